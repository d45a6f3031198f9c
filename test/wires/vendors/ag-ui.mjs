// AG-UI 1.0 as a source.
import { EventSchemas } from '@ag-ui/core/schemas';

import { agUiWire } from '../frame/ag-ui.mjs';

export default agUiWire({
  name: 'ag-ui',
  title: 'AG-UI 1.0',
  sdk: '@ag-ui/core',
  EventSchemas,
  protocolVersion: '1.0',
});
