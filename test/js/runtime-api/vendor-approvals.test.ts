// Operations of LobeHub's server that wait for an approval of the provider.
import {
  approvalRequest,
  approvalResponse,
  textItem,
  sentItems,
  startApprovalProvider,
} from '../../support/approval-provider';
import type { Provider } from '../../support/provider';
import { cleanUp, hosts, serve } from './kit';
import { lobeOf, textOf } from './lobe-kit';

let provider: Provider;
afterEach(async () => {
  await cleanUp();
  await provider.close();
});

const request = approvalRequest('mcpr_1');

describe.each(hosts)('an operation (%s)', (host) => {
  const waiting = async () => {
    provider = await startApprovalProvider([[request], [textItem('A six.')]]);
    const agent = {
      model: 'openai:gpt',
      provider: { baseURL: provider.url, apiKey: 'k', maxRetries: 0 },
      parameters: { apiMode: 'responses' },
    };
    const api = lobeOf(await serve(host, { agent }));
    const { operationId } = await api.post('operations', { prompt: 'Roll a die.' });
    const events = await api.events(operationId);
    expect(events.at(-1)?.data.data).toMatchObject({ reason: 'waiting_for_human' });
    return { api, operationId, place: events.at(-1)?.id ?? '' };
  };

  it('waits for an approval of the provider, with the call as it is shown', async () => {
    const { api, operationId, place } = await waiting();
    const { currentState } = await api.get(`operations/${operationId}`);
    const [call] = currentState.pendingToolsCalling;
    expect(call).toMatchObject({ id: 'mcpr_1', apiName: 'roll', arguments: '{"sides":6}' });
    const data = { approvedToolCall: call };
    const decision = { operationId, action: 'approve', data };
    await api.post('human-intervention', decision);
    await api.post(`operations/${operationId}/sync`, {});
    expect(textOf(await api.events(operationId, place))).toBe('A six.');
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
    // The same decision again changes nothing; another one is too late.
    await api.post('human-intervention', decision);
    await api.post('human-intervention', { ...decision, action: 'reject_continue' }, 409);
    expect(provider.calls).toHaveLength(2);
  });

  it('goes on where it is refused', async () => {
    const { api, operationId, place } = await waiting();
    const decision = { operationId, action: 'reject_continue', reason: 'No dice.' };
    await api.post('human-intervention', decision);
    await api.post(`operations/${operationId}/sync`, {});
    expect(textOf(await api.events(operationId, place))).toBe('A six.');
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', false, 'No dice.')]);
  });
});
