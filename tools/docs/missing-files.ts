import { dirname } from 'node:path'
import { inlineCodeOf, type Page } from './markdown-pages.ts'

const FILE = /^[\w./-]+(?:\.(?:ts|tsx|mjs|md|json|yaml)|\/)$/
/** Made, not stored. */
const BUILT = ['dist/']

/**
 * Files and folders that a page names in code, but that aren't there. A README of a package names its own files. The beginning of a
 * path may be left out. `<noun>` stands for many and is not looked up.
 */
export function missingFiles({ path: page, text }: Page, paths: readonly string[]): string[] {
  const home = page.endsWith('README.md') ? `${dirname(page)}/` : ''
  const own = paths.filter(path => path.startsWith(home)).map(path => `/${path}`)
  const isThere = (name: string) =>
    own.some(path => (name.endsWith('/') ? path.includes(`/${name}`) : path.endsWith(`/${name}`))) ||
    paths.some(path => path === name || (name.endsWith('/') && path.startsWith(name)))
  return inlineCodeOf(text)
    .filter(({ text: name }) => FILE.test(name) && !BUILT.includes(name) && !isThere(name))
    .map(({ text: name, line }) => `${page}:${line} ${name}`)
}
