import { linesOf } from './parse-source.ts'
import type { RepositoryFile, Tree, Violation } from './repository-tree.ts'

interface Page {
  readonly path: RegExp
  readonly linesMax?: number
}

/** Every page there may be. Notes, summaries and plans belong into a commit message or nowhere. */
const PAGES: readonly Page[] = [
  { path: /^README\.md$/, linesMax: 120 },
  { path: /^ARCHITECTURE\.md$/, linesMax: 200 },
  { path: /^CONTRIBUTING\.md$/, linesMax: 120 },
  { path: /^CHANGELOG\.md$/ },
  { path: /^SECURITY\.md$/, linesMax: 60 },
  { path: /^docs\/.+\.md$/ },
  { path: /^bench\/[^/]+\.md$/ },
  { path: /^(packages|apps)\/[^/]+\/README\.md$/, linesMax: 40 },
  { path: /^(simulation|examples|tools)\/README\.md$/, linesMax: 40 },
]
const DECISION = /^docs\/(?:adr|decisions)\/(\d+)-[^/]+\.md$/

export function checkDocuments(tree: Tree): Violation[] {
  const pages = tree.files.filter(({ path }) => path.endsWith('.md'))
  return [...pages.flatMap(checkPage), ...checkDecisions(pages)]
}

function checkPage({ path, text }: RepositoryFile): Violation[] {
  const page = PAGES.find(allowed => allowed.path.test(path))
  if (!page) return [{ path, line: 1, rule: 'page outside the allow-list', use: 'docs/, or nothing' }]
  const { length } = linesOf(text)
  if (length <= (page.linesMax ?? Number.POSITIVE_INFINITY)) return []
  return [
    {
      path,
      line: page.linesMax ?? 1,
      rule: `page of ${length} lines, at most ${page.linesMax}`,
      use: 'docs/ for the rest',
    },
  ]
}

/** Decisions are numbered without gaps and dated, so that what was superseded when stays readable. */
function checkDecisions(pages: readonly RepositoryFile[]): Violation[] {
  const decisions = pages.filter(({ path }) => DECISION.test(path)).toSorted((a, b) => numberOf(a) - numberOf(b))
  return decisions.flatMap((page, index) => [
    ...(numberOf(page) === index + 1
      ? []
      : [{ path: page.path, line: 1, rule: 'gap or double number', use: `${index + 1}` }]),
    ...['Status', 'Date']
      .filter(field => !new RegExp(`^\\W*${field}\\**:`, 'm').test(page.text))
      .map(field => ({ path: page.path, line: 1, rule: `decision without ${field}`, use: `a line "${field}: ..."` })),
  ])
}

const numberOf = ({ path }: RepositoryFile) => Number(DECISION.exec(path)?.[1])
