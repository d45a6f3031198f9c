// The circuit breakers of this environment's engine.
import type { ProviderCircuit } from '../../types/model';
import { addon } from '../addon';

/**
 * The providers that failed lately, by address and key, and whether they are asked at the moment.
 * Calls that go through a fetch function have no circuit.
 */
export function providerCircuits(): ProviderCircuit[] {
  return JSON.parse(addon().providerCircuits()) as ProviderCircuit[];
}
