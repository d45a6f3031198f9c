// `millrace/ag-ui`: AG-UI's HttpAgent for runs that are recorded. No addon, nothing of Node.js; needs @ag-ui/client.
export { ResumableHttpAgent } from '../client/resumable-http-agent';
export type { ResumableHttpAgentConfig } from '../client/resumable-http-agent';
export type { ReconnectOptions, RunPosition } from '../client/resumable-run';
