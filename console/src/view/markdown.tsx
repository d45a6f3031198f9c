// Markdown as React elements: no HTML text is ever made, so none of it can do anything.
import { memo, type ReactNode, useMemo, useState } from 'react';

import {
  attribute,
  BlockReader,
  type MarkdownBlock,
  type MarkdownNode,
  safeAddress,
} from '../markdown';
import { CopyButton } from './copy-button';

type Render = (node: MarkdownNode, inner: ReactNode) => ReactNode;

const headings = ['h3', 'h3', 'h4', 'h5', 'h6', 'h6'] as const;

function Heading({ node, inner }: { node: MarkdownNode; inner: ReactNode }): ReactNode {
  const level = Number(node.token.tag.slice(1));
  const Tag = headings[level - 1] ?? 'h6';
  return <Tag className={`heading-${level}`}>{inner}</Tag>;
}

function Code({ node }: { node: MarkdownNode }): ReactNode {
  const language = node.token.info.trim().split(/\s+/)[0] ?? '';
  const label = language === '' ? 'Code' : `Code: ${language}`;
  return (
    <div className="code">
      <div className="code-head">
        <span>{language || 'text'}</span>
        <CopyButton text={node.token.content} label="Copy code" />
      </div>
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{node.token.content}</code>
      </pre>
    </div>
  );
}

function Link({ address, inner }: { address: string; inner: ReactNode }): ReactNode {
  const safe = safeAddress(address);
  if (safe === undefined) return <span className="dead-link">{inner}</span>;
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {inner}
    </a>
  );
}

// A picture of another server would tell it who reads; the page loads none.
function Picture({ node }: { node: MarkdownNode }): ReactNode {
  const address = attribute(node, 'src');
  return <Link address={address} inner={`Picture: ${node.token.content || address}`} />;
}

function Cell({ node, inner }: { node: MarkdownNode; inner: ReactNode }): ReactNode {
  const Tag = node.token.tag === 'th' ? 'th' : 'td';
  const align = /text-align:(\w+)/.exec(attribute(node, 'style'))?.[1];
  return <Tag className={align && `align-${align}`}>{inner}</Tag>;
}

const rows: Record<string, Render> = {
  paragraph_open: (node, inner) => (node.token.hidden ? inner : <p>{inner}</p>),
  heading_open: (node, inner) => <Heading node={node} inner={inner} />,
  bullet_list_open: (_node, inner) => <ul>{inner}</ul>,
  ordered_list_open: (node, inner) => (
    <ol start={Number(attribute(node, 'start') || 1)}>{inner}</ol>
  ),
  list_item_open: (_node, inner) => <li>{inner}</li>,
  blockquote_open: (_node, inner) => <blockquote>{inner}</blockquote>,
  hr: () => <hr />,
  fence: (node) => <Code node={node} />,
  code_block: (node) => <Code node={node} />,
  table_open: (_node, inner) => (
    <div className="table" tabIndex={0} role="region" aria-label="Table">
      <table>{inner}</table>
    </div>
  ),
  thead_open: (_node, inner) => <thead>{inner}</thead>,
  tbody_open: (_node, inner) => <tbody>{inner}</tbody>,
  tr_open: (_node, inner) => <tr>{inner}</tr>,
  th_open: (node, inner) => <Cell node={node} inner={inner} />,
  td_open: (node, inner) => <Cell node={node} inner={inner} />,
  inline: (_node, inner) => inner,
  softbreak: () => '\n',
  hardbreak: () => <br />,
  code_inline: (node) => <code>{node.token.content}</code>,
  strong_open: (_node, inner) => <strong>{inner}</strong>,
  em_open: (_node, inner) => <em>{inner}</em>,
  s_open: (_node, inner) => <s>{inner}</s>,
  link_open: (node, inner) => <Link address={attribute(node, 'href')} inner={inner} />,
  image: (node) => <Picture node={node} />,
};

function Nodes({ nodes }: { nodes: readonly MarkdownNode[] }): ReactNode {
  return nodes.map((node, at) => {
    const inner = node.children.length > 0 ? <Nodes nodes={node.children} /> : null;
    const render = rows[node.token.type];
    const made = render ? render(node, inner) : node.token.content;
    return <Piece key={at}>{made}</Piece>;
  });
}

const Piece = ({ children }: { children: ReactNode }): ReactNode => children;

const Block = memo(
  ({ block }: { block: MarkdownBlock }): ReactNode => <Nodes nodes={block.nodes} />,
  (before, after) => before.block === after.block || before.block.key === after.block.key,
);
Block.displayName = 'Block';

export function Markdown({ text }: { text: string }): ReactNode {
  const [reader] = useState(() => new BlockReader());
  const blocks = useMemo(() => reader.read(text), [reader, text]);
  return (
    <div className="markdown" dir="auto">
      {blocks.map((block, at) => (
        <Block key={at} block={block} />
      ))}
    </div>
  );
}
