import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One page of the documentation. */
export interface Page {
  /** Seen from the root of the repository. */
  readonly path: string
  readonly text: string
}

/** A fenced block, and the line of its first line. */
export interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
}

/** Files that git tracks or would track. */
export function filesOf(root: string, pattern = '*'): string[] {
  const listing = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', pattern]
  const paths = execFileSync('git', listing, { cwd: root }).toString('utf8').split('\0').filter(Boolean)
  return [...new Set(paths)].filter(path => existsSync(join(root, path)))
}

export const pagesOf = (root: string): Page[] =>
  filesOf(root, '*.md').map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const FENCE = /^ *(?:```|~~~)/

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let open: { language: string; lines: string[]; line: number } | null = null
  for (const [index, line] of text.split('\n').entries()) {
    if (!FENCE.test(line)) open?.lines.push(line)
    else if (open === null) open = { language: line.replace(FENCE, '').trim(), lines: [], line: index + 2 }
    else {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line })
      open = null
    }
  }
  return blocks
}

/** The page with its fenced blocks emptied, so that lines keep their numbers. */
export function proseOf(text: string): string {
  let isInside = false
  return text
    .split('\n')
    .map(line => {
      const isFence = FENCE.test(line)
      const isHidden = isInside || isFence
      if (isFence) isInside = !isInside
      return isHidden ? '' : line
    })
    .join('\n')
}

export const inlineCodeOf = (text: string): { text: string; line: number }[] =>
  proseOf(text)
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(/`([^`]+)`/g)].map(([, code = '']) => ({ text: code, line: index + 1 })),
    )
