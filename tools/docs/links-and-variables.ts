import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { inlineCodeOf, type Page, proseOf } from './markdown-pages.ts'

/** Every relative link and image that leads nowhere, and every anchor that no heading has. */
export function deadLinks(pages: readonly Page[], root: string): string[] {
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]))
  return pages.flatMap(page =>
    linksOf(page).flatMap(({ target, line }) => {
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page.path : normalize(join(dirname(page.path), decodeURIComponent(file)))
      const dead = `${page.path}:${line} ${target}`
      if (file !== '' && !existsSync(join(root, path))) return [dead]
      return anchor === undefined || anchors.get(path)?.has(anchor) ? [] : [dead]
    }),
  )
}

const LINK = /\[(?:[^\][]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g
const REFERENCE = /^\[[^\]]+\]:\s*(\S+)/g
const ELSEWHERE = /^[a-z][a-z0-9+.-]*:|^\/\//i

function linksOf({ text }: Page): { target: string; line: number }[] {
  return proseOf(text)
    .split('\n')
    .flatMap((line, index) => {
      const bare = line.replaceAll(/`[^`]*`/g, '``')
      const found = [...bare.matchAll(LINK), ...bare.matchAll(REFERENCE)]
      return found.map(([, target = '']) => ({ target, line: index + 1 }))
    })
    .filter(({ target }) => !ELSEWHERE.test(target))
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of proseOf(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  return anchors
}

const slugOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

const VARIABLE = /(?<![\w$])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w])/g

/** Names in code on the page with the form of environment variables. */
export function variablesIn(
  { path, text }: Page,
  blocks: readonly { text: string; line: number }[],
): [string, string][] {
  return [...blocks, ...inlineCodeOf(text)].flatMap(code =>
    [...code.text.matchAll(VARIABLE)].map(([name]): [string, string] => [name, `${path}:${code.line} ${name}`]),
  )
}
