// Calls that a provider runs itself, such as a web search of its own: they are not run again here.
import type { AGUIEvent } from '../../types/events';

/** The call that an event says is the provider's: it has answered it, or says that it will. */
export function providerCallOf(event: AGUIEvent): string | undefined {
  if (event.type === 'TOOL_CALL_RESULT') return event.toolCallId;
  if (event.type !== 'CUSTOM' || event.name !== 'millrace.provider_state') return undefined;
  const { kind, entityId } = event.value as { kind: string; entityId?: string };
  return kind === 'server_tool' || kind === 'hosted' ? entityId : undefined;
}
