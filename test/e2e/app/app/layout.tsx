import type { ReactNode } from 'react';

export const metadata = { title: 'Millrace in Next.js' };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body style={{ fontFamily: 'sans-serif', maxWidth: '40rem', margin: '2rem auto' }}>
        {children}
      </body>
    </html>
  );
}
