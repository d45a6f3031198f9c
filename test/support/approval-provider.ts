// A loopback provider of the Responses API whose MCP server wants approvals.
import type { Provider } from './provider';
import { startProvider, stream } from './provider';

export type Item = Record<string, unknown>;

export const approvalRequest = (id: string, name = 'roll', server_label = 'dice'): Item => ({
  ...{ id, type: 'mcp_approval_request', server_label, name, arguments: '{"sides":6}' },
});
export const approvalResponse = (
  approval_request_id: string,
  approve: boolean,
  reason?: string,
): Item => ({
  ...{ type: 'mcp_approval_response', approval_request_id, approve },
  ...(reason !== undefined && { reason }),
});
export const functionCall = (call_id: string, name: string): Item => ({
  ...{ id: `fc_${call_id}`, type: 'function_call', call_id, name, arguments: '{}' },
});
export const mcpCall = (id: string): Item => ({
  ...{ id, type: 'mcp_call', server_label: 'dice', name: 'roll', arguments: '{"sides":6}' },
  output: '6',
});
export const textItem = (text: string): Item => ({
  ...{ id: `msg_${text.length}`, type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
});

/** A provider that answers each request with the next list of items; the last one repeats. */
export async function startApprovalProvider(answers: readonly Item[][]): Promise<Provider> {
  const provider = await startProvider();
  provider.answer = async (response, call) => {
    const output = answers[Math.min(provider.calls.length, answers.length) - 1] ?? [];
    const head = { id: `resp_${provider.calls.length}`, status: 'in_progress', output: [] };
    const records = [
      { type: 'response.created', response: head },
      ...output.map((item, output_index) => ({
        ...{ type: 'response.output_item.done', output_index, item },
      })),
      { type: 'response.completed', response: { ...head, status: 'completed' } },
    ];
    const lines = records.map(
      (record) => `event: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`,
    );
    return stream(lines)(response, call);
  };
  return provider;
}

/** The items of a request behind the user's first message. */
export function sentItems(provider: Provider, at = -1): Item[] {
  const call = provider.calls.at(at);
  const { input } = JSON.parse(call?.body ?? '{"input":[]}') as { input: Item[] };
  return input.slice(1);
}
