// `millrace/model`: model runtimes, factories and routers.
export type * from '../../types/capabilities';
export type * from '../../types/model';
export type * from '../../types/json-schema';
export type * from '../../types/objects';
export type * from '../../types/providers';
export { providerCircuits } from '../model/circuits';
export { configFromEnvironment, configFromOptions, firstConfigOf } from '../model/config-source';
export type {
  ConfigContext,
  EnvironmentSource,
  ProviderConfigSource,
} from '../model/config-source';
export { anthropicCompatibleFactory, openaiCompatibleFactory } from '../model/factories';
export type { RuntimeClass } from '../model/factories';
export type { FactoryRuntimeOptions } from '../model/factory-settings';
export type {
  AnthropicCompatibleOptions,
  FactoryHooks,
  FactoryInstance,
  GivenModel,
  OpenAICompatibleOptions,
} from '../model/factory-options';
export type { ListedModel } from '../model/listed-models';
export { ObjectRun } from '../model/object';
export { createRouterRuntime } from '../model/router';
export type { RouterRuntime, RouterRuntimeClass } from '../model/router';
export type {
  ChannelOptions,
  FailedRoute,
  RouteAttempt,
  Router,
  RouterListing,
  RouterOptions,
} from '../model/router-options';
export { ModelRun } from '../model/run';
export { createModelRuntime, ModelRuntime } from '../model/runtime';
export type {
  CallOptions,
  ChatOptions,
  Fallback,
  ModelRuntimeOptions,
  StreamOptions,
} from '../model/runtime-options';
export type { ProviderSettings } from '../model/settings';
export { proxyFromEnvironment } from '../transport/route';
export type { ProxySettings, RouteOptions } from '../transport/route';
