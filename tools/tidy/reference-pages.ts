import { Visitor } from 'rolldown/utils'
import { linesOf, type Source } from './parse-source.ts'
import { fileAt, isTest, type Tree, type Violation } from './repository-tree.ts'

interface Named {
  readonly name: string
  readonly path: string
  readonly line: number
}

const PROBLEMS = 'packages/contract/src/problem-codes.ts'
const PRODUCT = /^(packages|apps)\/[^/]+\/src\//
const CONFIG = /^(packages|apps)\/[^/]+\/src\/([a-z]+\/)*(config|environment|read-environment)\.ts$/
const ENV_NAME = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/

/** Reference pages name what the code names, and nothing else. A page that isn't written yet is not checked. */
export function checkReference(tree: Tree): Violation[] {
  const problems = tree.sources.filter(({ path }) => path === PROBLEMS).flatMap(exportedKeys)
  const product = tree.sources.filter(({ path }) => PRODUCT.test(path) && !isTest(path))
  const settings = [
    ...product.flatMap(namesRead),
    ...product.filter(({ path }) => CONFIG.test(path)).flatMap(namesParsed),
  ]
  const isSetting = ({ name }: Named) => ENV_NAME.test(name)
  return [
    ...compare(problems, documented(tree, 'docs/reference/errors.md'), 'docs/reference/errors.md'),
    ...compare(settings, documented(tree, 'docs/reference/config.md')?.filter(isSetting), 'docs/reference/config.md'),
  ]
}

function compare(inCode: readonly Named[], onPage: readonly Named[] | undefined, page: string): Violation[] {
  if (!onPage) return []
  const missing = without(inCode, onPage)
  const stale = without(onPage, inCode)
  return [
    ...missing.map(({ name, path, line }) => ({
      path,
      line,
      rule: `${name} is undocumented`,
      use: `a row in ${page}`,
    })),
    ...stale.map(({ name, path, line }) => ({
      path,
      line,
      rule: `${name} is not in the code`,
      use: 'deleting the row',
    })),
  ]
}

function without(some: readonly Named[], others: readonly Named[]): Named[] {
  const known = new Set(others.map(({ name }) => name))
  return some.filter(({ name }, index) => !known.has(name) && some.findIndex(one => one.name === name) === index)
}

/** Names in backticks that open a line, a heading, a list item or a table row. */
function documented(tree: Tree, path: string): Named[] | undefined {
  const page = fileAt(tree, path)
  return (
    page &&
    linesOf(page.text).flatMap((text, index) => {
      const [, name] = /^(?:#+ |[-*] |\| *)?`([^`]+)`/.exec(text) ?? []
      return name === undefined ? [] : [{ name, path, line: index + 1 }]
    })
  )
}

/** First-level keys of the catalogs a file exports: `export const X = { KEY: { ... } }`. */
function exportedKeys(source: Source): Named[] {
  const found: Named[] = []
  let depth = 0
  new Visitor({
    ObjectExpression: node => {
      depth += 1
      if (depth > 1) return
      for (const property of node.properties) {
        const isEntry = property.type === 'Property' && property.value.type === 'ObjectExpression'
        if (isEntry) found.push(named(source, property.key))
      }
    },
    'ObjectExpression:exit': () => {
      depth -= 1
    },
  }).visit(source.program)
  return found
}

/** `env.SOME_NAME`, wherever it is read; names of one word, such as TERM, are the system's. */
function namesRead({ path, code }: Source): Named[] {
  return code.flatMap((text, index) =>
    [...text.matchAll(/\benv\??\.([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b/g)].map(([, name = '']) => ({
      name,
      path,
      line: index + 1,
    })),
  )
}

/** Names of the environment in a schema. */
function namesParsed(source: Source): Named[] {
  const found: Named[] = []
  new Visitor({
    Property: node => {
      const key = named(source, node.key)
      if (ENV_NAME.test(key.name)) found.push(key)
    },
    Literal: node => {
      const key = named(source, node)
      if (ENV_NAME.test(key.name) && key.name.includes('_')) found.push(key)
    },
  }).visit(source.program)
  return found
}

function named(source: Source, { start, end }: { start: number; end: number }): Named {
  const name = source.text.slice(start, end).replace(/^['"]|['"]$/g, '')
  return { name, path: source.path, line: source.lineAt(start) }
}
