/** Safe markup: every text in it was escaped by `html`. */
export interface Html {
  readonly markup: string
}

export type Piece = string | number | Html | null | readonly Piece[]

/** The only way to make markup: it escapes everything but other markup. Null renders nothing. */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { markup: texts.map((text, index) => text + markupOf(pieces[index] ?? null)).join('') }
}

function markupOf(piece: Piece): string {
  if (piece === null) return ''
  if (typeof piece === 'string' || typeof piece === 'number') return escaped(String(piece))
  return 'markup' in piece ? piece.markup : piece.map(markupOf).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, sign => ENTITIES[sign] ?? '')

export const joined = (pieces: readonly Piece[], between: string): Piece[] =>
  pieces.flatMap((piece, index) => (index === 0 ? [piece] : [between, piece]))

/** A text in which `backticks` mark code. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`

/** A code sample to copy. The page can call `tryPath` itself. */
export const sample = (kind: 'shell' | 'json' | 'stream', text: string, tryPath: string | null = null): Html =>
  html`<figure class="sample"${tryPath === null ? null : html` data-try="${tryPath}"`}><figcaption>${kind}</figcaption>
<pre tabindex="0"><code>${text}</code></pre></figure>`
