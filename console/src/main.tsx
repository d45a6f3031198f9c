import { createRoot } from 'react-dom/client';

import './styles/base.css';
import './styles/layout.css';
import './styles/messages.css';
import './styles/markdown.css';
import './styles/panels.css';
import { App } from './view/app';

const page = document.getElementById('page');
if (page) createRoot(page).render(<App />);
