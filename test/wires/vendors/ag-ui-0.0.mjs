// AG-UI before 1.0 as a source.
import { EventSchemas } from 'ag-ui-core-0.0';

import { agUiWire } from '../frame/ag-ui.mjs';

export default agUiWire({
  name: 'ag-ui-0.0',
  title: 'AG-UI before 1.0',
  sdk: 'ag-ui-core-0.0',
  EventSchemas,
});
