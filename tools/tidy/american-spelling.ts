import { linesOf } from './parse-source.ts'
import type { RepositoryFile, Tree, Violation } from './repository-tree.ts'

interface Spelling {
  /** Matches in identifiers too. The letter in brackets keeps the rule from finding itself. */
  readonly british: RegExp
  readonly american: string
}

const SPELLINGS: readonly Spelling[] = [
  { british: /licen[c]e/i, american: 'license' },
  { british: /cancel[l](ed|ing|er|able)/i, american: 'canceled' },
  { british: /(behavi|col|fav|hon|neighb|hum|lab|rum|harb|vap)o[u]r(?!cap)/i, american: '-or' },
  { british: /judg[e]ment/i, american: 'judgment' },
  { british: /acknowledg[e]ment/i, american: 'acknowledgment' },
  {
    british:
      /(recogn|organ|normal|initial|serial|summar|optim|synchron|author|token)i[s](e[sdr]?|ing|ations?)(?![a-z])/i,
    american: '-ize',
  },
  {
    british:
      /(minim|maxim|custom|util|final|real|categor|prior|emphas|material|visual)i[s](e[sdr]?|ing|ations?)(?![a-z])/i,
    american: '-ize',
  },
  { british: /(cent|theat|kilomet|millimet|fib)r[e](?![a-z])/i, american: '-er' },
  { british: /(def|off|pret)en[c]e(?![a-z])/i, american: '-ense' },
  {
    british: /(lab|mod|trav|lev|tunn|sign|tot|fu|chann|mars?h|pan|cance)[ae]l[l](ed|ing)(?![a-z])/i,
    american: 'one l',
  },
  { british: /catalog[u]e/i, american: 'catalog' },
  { british: /(?<![a-z])gr[e]y/i, american: 'gray' },
  { british: /(?<![a-z])fulfi[l](s|ment)?(?![a-z])/i, american: 'fulfill' },
  { british: /art[e]fact/i, american: 'artifact' },
  { british: /analy[s](e[sdr]?|ing)(?![a-z])/i, american: 'analyze' },
  { british: /(?<![a-z])(learn|spel|spoil|burn)[t](?![a-z])/i, american: '-ed' },
  { british: /(?<![a-z])(whil|among)[s]t(?![a-z])/i, american: 'while, among' },
  { british: /program[m]e(?![dr])/i, american: 'program' },
]

const ANY_BRITISH = new RegExp(SPELLINGS.map(({ british }) => british.source).join('|'), 'i')

/** Names that others own: each with the standard or product that spells it so. */
const OTHERS_OWN: readonly RegExp[] = [
  // WAI-ARIA attribute, and the option of Playwright that reads it.
  /aria-labelle[d]by/gi,
  // IBM color name in CSS.
  /slategre[y]/gi,
]

/** Machine-made texts: base64 and figures hold any letters. */
const NOT_PROSE = /^package-lock\.json$|\/generated\/|\.svg$|^bench\/(results|proof)\.json$/

/** American spelling everywhere: code, texts, wire values and pages. */
export function checkSpelling(tree: Tree): Violation[] {
  return tree.files
    .filter(({ path }) => !NOT_PROSE.test(path))
    .flatMap(file => [...misspelledPath(file), ...misspelledLines(file)])
}

function misspelledPath({ path }: RepositoryFile): Violation[] {
  return misspelled(path).map(use => ({ path, line: 1, rule: 'British spelling in the file name', use }))
}

function misspelledLines({ path, text }: RepositoryFile): Violation[] {
  if (!ANY_BRITISH.test(text)) return []
  return linesOf(text).flatMap((line, index) =>
    misspelled(line).map(use => ({ path, line: index + 1, rule: 'British spelling', use })),
  )
}

function misspelled(text: string): string[] {
  const ours = OTHERS_OWN.reduce((rest, name) => rest.replaceAll(name, ''), text)
  return SPELLINGS.flatMap(({ british, american }) => {
    const [found] = british.exec(ours) ?? []
    return found === undefined ? [] : [`American spelling of ${found}: ${american}`]
  })
}
