import type { ReactNode } from 'react';

// Paths on a grid of 24 by 24.
const paths = {
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  attach:
    'M20 11.500l-7.800 7.800a4.600 4.600 0 0 1-6.500-6.500l8.100-8.100a3 3 0 0 1 4.300 4.300l-8 8a1.500 1.500 0 0 1-2.200-2.200l7.100-7.100',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  again: 'M19 12a7 7 0 1 1-2.300-5.200M19 4v4h-4',
  chevron: 'M9 6l6 6-6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  key: 'M14.500 9.500a4 4 0 1 0-1.200 2.900L20 19M17 16l2-2M15 14l1.500-1.500',
  runs: 'M4 6h10M4 12h16M4 18h7',
  tool: 'M14.500 6.500a4 4 0 0 1 5-1l-2.700 2.700 1 1L20.500 6.500a4 4 0 0 1-5.500 5L8 18.500a1.800 1.800 0 0 1-2.500-2.500l7-7a4 4 0 0 1 2-2.500z',
  thought: 'M12 4a6 6 0 0 0-3.500 10.900V17h7v-2.100A6 6 0 0 0 12 4zM9.500 20h5',
  warning: 'M12 4L2.800 19.500h18.400zM12 10v4.500M12 17v.5',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
