// Written by scripts/generate-providers.mjs from lib/model/provider/providers.def. Do not edit.

/** Every provider of the table, and what its API speaks; docs/providers.md tells more. */
export interface ProviderDialects {
  /** OpenAI. Key: OPENAI_API_KEY. */
  openai: 'openai_chat';
  /** Anthropic. Key: ANTHROPIC_API_KEY. */
  anthropic: 'anthropic';
  /** Google Gemini. Key: GEMINI_API_KEY or GOOGLE_API_KEY. */
  google: 'gemini';
  /** Google Vertex AI. Key: VERTEXAI_CREDENTIALS. */
  vertexai: 'vertex_gemini';
  /** Azure OpenAI. Key: AZURE_OPENAI_API_KEY or AZURE_API_KEY. Needs `baseURL`. */
  azure: 'openai_chat';
  /** Azure AI Foundry. Key: AZUREAI_ENDPOINT_KEY or AZURE_INFERENCE_CREDENTIAL. Needs `baseURL`. */
  azureai: 'openai_chat';
  /** Amazon Bedrock. Key: AWS_ACCESS_KEY_ID. */
  bedrock: 'bedrock_converse';
  /** Ollama. */
  ollama: 'ollama';
  /** Ollama Cloud. Key: OLLAMA_API_KEY. */
  ollamacloud: 'ollama';
  /** DeepSeek. Key: DEEPSEEK_API_KEY. */
  deepseek: 'openai_chat';
  /** Moonshot AI (Kimi). Key: MOONSHOT_API_KEY. */
  moonshot: 'openai_chat';
  /** MiniMax. Key: MINIMAX_API_KEY. */
  minimax: 'openai_chat';
  /** MiniMax Coding Plan. Key: MINIMAX_CODING_PLAN_API_KEY. */
  minimaxcodingplan: 'anthropic';
  /** Zhipu (GLM). Key: ZHIPU_API_KEY. */
  zhipu: 'openai_chat';
  /** Z.ai. Key: ZAI_API_KEY. */
  zai: 'openai_chat';
  /** GLM Coding Plan. Key: GLM_CODING_PLAN_API_KEY. */
  glmcodingplan: 'openai_chat';
  /** Alibaba Cloud Model Studio (Qwen). Key: DASHSCOPE_API_KEY or QWEN_API_KEY. */
  qwen: 'openai_chat';
  /** Bailian Coding Plan. Key: BAILIAN_CODING_PLAN_API_KEY. */
  bailiancodingplan: 'openai_chat';
  /** Volcengine Ark (Doubao). Key: ARK_API_KEY or VOLCENGINE_API_KEY. */
  volcengine: 'openai_chat';
  /** Volcengine Coding Plan. Key: VOLCENGINE_CODING_PLAN_API_KEY. */
  volcenginecodingplan: 'openai_chat';
  /** xAI. Key: XAI_API_KEY. */
  xai: 'openai_chat';
  /** OpenRouter. Key: OPENROUTER_API_KEY. */
  openrouter: 'openai_chat';
  /** AiHubMix. Key: AIHUBMIX_API_KEY. */
  aihubmix: 'openai_chat';
  /** New API. Key: NEWAPI_API_KEY. Needs `baseURL`. */
  newapi: 'openai_chat';
  /** ZenMux. Key: ZENMUX_API_KEY. */
  zenmux: 'openai_chat';
  /** OpenCode Zen. Key: OPENCODE_API_KEY. */
  opencodezen: 'openai_chat';
  /** OpenCode Go. Key: OPENCODE_GO_API_KEY. */
  opencodecodingplan: 'openai_chat';
  /** GitHub Copilot. Key: GITHUB_COPILOT_TOKEN. */
  githubcopilot: 'openai_chat';
  /** GitHub Models. Key: GITHUB_TOKEN. */
  github: 'openai_chat';
  /** Kimi For Coding. Key: KIMI_CODING_PLAN_API_KEY. */
  kimicodingplan: 'anthropic';
  /** AI21 Labs. Key: AI21_API_KEY. */
  ai21: 'openai_chat';
  /** 302.AI. Key: AI302_API_KEY. */
  ai302: 'openai_chat';
  /** 360 AI. Key: AI360_API_KEY. */
  ai360: 'openai_chat';
  /** AkashML. Key: AKASHML_API_KEY or AKASHCHAT_API_KEY. */
  akashchat: 'openai_chat';
  /** Ant Ling. Key: ANTGROUP_API_KEY. */
  antgroup: 'openai_chat';
  /** Baichuan. Key: BAICHUAN_API_KEY. */
  baichuan: 'openai_chat';
  /** Cerebras. Key: CEREBRAS_API_KEY. */
  cerebras: 'openai_chat';
  /** Cloudflare Workers AI. Key: CLOUDFLARE_API_TOKEN or CLOUDFLARE_API_KEY. */
  cloudflare: 'openai_chat';
  /** Cohere. Key: COHERE_API_KEY or CO_API_KEY. */
  cohere: 'cohere';
  /** CometAPI. Key: COMETAPI_KEY or COMETAPI_API_KEY. */
  cometapi: 'openai_chat';
  /** Fireworks AI. Key: FIREWORKS_API_KEY or FIREWORKSAI_API_KEY. */
  fireworksai: 'openai_chat';
  /** Gitee AI. Key: GITEE_AI_API_KEY. */
  giteeai: 'openai_chat';
  /** Groq. Key: GROQ_API_KEY. */
  groq: 'openai_chat';
  /** Higress. Key: HIGRESS_API_KEY. Needs `baseURL`. */
  higress: 'openai_chat';
  /** Hugging Face. Key: HF_TOKEN or HUGGINGFACE_API_KEY. */
  huggingface: 'openai_chat';
  /** Tencent Hunyuan. Key: HUNYUAN_API_KEY. */
  hunyuan: 'openai_chat';
  /** Infini-AI. Key: INFINIAI_API_KEY. */
  infiniai: 'openai_chat';
  /** InternLM. Key: INTERNLM_API_KEY. */
  internlm: 'openai_chat';
  /** Jina AI DeepSearch. Key: JINA_API_KEY. */
  jina: 'openai_chat';
  /** LM Studio. Key: LMSTUDIO_API_KEY. */
  lmstudio: 'openai_chat';
  /** LongCat. Key: LONGCAT_API_KEY. */
  longcat: 'openai_chat';
  /** Llama API. Key: LLAMA_API_KEY or META_API_KEY. */
  meta: 'openai_chat';
  /** Mistral AI. Key: MISTRAL_API_KEY. */
  mistral: 'mistral';
  /** ModelScope. Key: MODELSCOPE_API_KEY. */
  modelscope: 'openai_chat';
  /** Nebius Token Factory. Key: NEBIUS_API_KEY. */
  nebius: 'openai_chat';
  /** Novita AI. Key: NOVITA_API_KEY. */
  novita: 'openai_chat';
  /** NVIDIA NIM. Key: NVIDIA_API_KEY. */
  nvidia: 'openai_chat';
  /** Perplexity. Key: PERPLEXITY_API_KEY. */
  perplexity: 'openai_chat';
  /** PPIO. Key: PPIO_API_KEY. */
  ppio: 'openai_chat';
  /** Qiniu Cloud. Key: QINIU_API_KEY. */
  qiniu: 'openai_chat';
  /** SambaNova. Key: SAMBANOVA_API_KEY. */
  sambanova: 'openai_chat';
  /** Search1API. Key: SEARCH1API_API_KEY. */
  search1api: 'openai_chat';
  /** SenseNova. Key: SENSENOVA_API_KEY. */
  sensenova: 'openai_chat';
  /** SiliconFlow. Key: SILICONCLOUD_API_KEY or SILICONFLOW_API_KEY. */
  siliconcloud: 'openai_chat';
  /** iFLYTEK Spark. Key: SPARK_API_KEY. */
  spark: 'openai_chat';
  /** StepFun. Key: STEPFUN_API_KEY or STEP_API_KEY. */
  stepfun: 'openai_chat';
  /** Straico. Key: STRAICO_API_KEY. */
  straico: 'openai_chat';
  /** StreamLake (Vanchin). Key: STREAMLAKE_API_KEY. */
  streamlake: 'openai_chat';
  /** Taichu. Key: TAICHU_API_KEY. */
  taichu: 'openai_chat';
  /** Tencent Cloud LKEAP. Key: TENCENT_CLOUD_API_KEY or LKEAP_API_KEY. */
  tencentcloud: 'openai_chat';
  /** Together AI. Key: TOGETHER_API_KEY or TOGETHERAI_API_KEY. */
  togetherai: 'openai_chat';
  /** Unsloth (local server). Key: UNSLOTH_STUDIO_AUTH_TOKEN or UNSLOTH_STUDIO_API_KEY. */
  unsloth: 'openai_chat';
  /** Upstage. Key: UPSTAGE_API_KEY. */
  upstage: 'openai_chat';
  /** Vercel v0. Key: V0_API_KEY or VERCEL_API_KEY. */
  v0: 'openai_chat';
  /** Vercel AI Gateway. Key: AI_GATEWAY_API_KEY or VERCELAIGATEWAY_API_KEY. */
  vercelaigateway: 'openai_chat';
  /** vLLM. Key: VLLM_API_KEY. */
  vllm: 'openai_chat';
  /** Baidu Qianfan (Wenxin). Key: QIANFAN_API_KEY or WENXIN_API_KEY. */
  wenxin: 'openai_chat';
  /** Xiaomi MiMo. Key: XIAOMIMIMO_API_KEY or MIMO_API_KEY. */
  xiaomimimo: 'openai_chat';
  /** Xinference. Key: XINFERENCE_API_KEY. */
  xinference: 'openai_chat';
  /** 01.AI (Yi). Key: ZEROONE_API_KEY. */
  zeroone: 'openai_chat';
  /** n1n. Key: N1N_API_KEY. */
  n1n: 'openai_chat';
  /** Black Forest Labs. Key: BFL_API_KEY. */
  bfl: 'none';
  /** ComfyUI. Key: COMFYUI_API_KEY. */
  comfyui: 'none';
  /** fal. Key: FAL_KEY. */
  fal: 'none';
  /** Replicate. Key: REPLICATE_API_TOKEN. */
  replicate: 'none';
  /** Voyage AI. Key: VOYAGE_API_KEY. */
  voyageai: 'none';
  /** ElevenLabs. Key: ELEVENLABS_API_KEY. */
  elevenlabs: 'none';
  /** Demo. Needs `baseURL`. */
  demo: 'openai_chat';
}

/** What else providers are called. */
export interface ProviderAliases {
  akashml: 'akashchat';
  gemini: 'google';
  vertex: 'vertexai';
  'azure-openai': 'azure';
  'azure-ai': 'azureai';
  'aws-bedrock': 'bedrock';
  copilot: 'githubcopilot';
  together: 'togetherai';
  fireworks: 'fireworksai';
  siliconflow: 'siliconcloud';
  router: 'newapi';
  grok: 'xai';
  kimi: 'moonshot';
  dashscope: 'qwen';
  'lm-studio': 'lmstudio';
  zhipuai: 'zhipu';
  'google-vertex': 'vertexai';
  workersai: 'cloudflare';
  'cloudflare-workers-ai': 'cloudflare';
  'amazon-bedrock': 'bedrock';
  moonshotai: 'moonshot';
  'fireworks-ai': 'fireworksai';
  'github-models': 'github';
  'github-copilot': 'githubcopilot';
}

export type ProviderId = keyof ProviderDialects;

/** A provider by its id or another name of it, in any case. */
export type ProviderName = ProviderId | keyof ProviderAliases | (string & {});
