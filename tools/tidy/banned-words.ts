import type { Tree, Violation } from './repository-tree.ts'

interface Term {
  /** Matches whole words, also inside identifiers: `freeRoom` is `free Room` here. */
  readonly word: RegExp
  readonly use: string
  /** Where the word is banned; everywhere unless set. As a verb, such as in "look up", it may be right in a text. */
  readonly in?: 'code'
}

const TERMS: readonly Term[] = [
  { word: /\brooms?\b/i, use: 'capacity' },
  { word: /(?<!\bin )\bflights?\b/i, use: 'purchase, or workers that arrive' },
  { word: /\bhomeless\b/i, use: 'unplaced' },
  { word: /\basleep\b/i, use: 'stopped, or frozen' },
  { word: /\bscenes?\b/i, use: 'context, or fixture' },
  { word: /\bhands\b/i, use: 'a noun for the object', in: 'code' },
  { word: /\blook(s|ed|ing)?\b/i, use: 'observe, read or probe', in: 'code' },
  { word: /\b(a|the|one|each|every|first|next|last|fresh) looks?\b/i, use: 'observation, or reconcile' },
  { word: /\bturns?\b/i, use: 'cycle, or slot', in: 'code' },
  { word: /\b(in|its|their|whose) turns?\b/i, use: 'cycle, or slot' },
  { word: /\b(told|said)\b/i, use: 'reported, written or message' },
  { word: /\banew\b/i, use: 'again' },
  { word: /\b(nobody|somebody|whoever)\b/i, use: 'the subject: a user, an operator, another writer' },
  { word: /\bpatience\b/i, use: 'timeout' },
  { word: /\bmend(s|ed|ing)?\b/i, use: 'fix' },
  { word: /\bbehind \w+('s)? back\b/i, use: 'the cause, such as "outside LCM"' },
  { word: /\bof (no|any|little) use\b/i, use: 'a verb: "can\'t help"' },
  { word: /\b(take|takes|taken|took) back\b/i, use: 'revoke, clear or release' },
]

/** Names in stored data of released versions, and this rule. */
const EXCEPT: readonly { readonly path: RegExp; readonly words: RegExp }[] = [
  { path: /^tools\/tidy\//, words: /./ },
  // A column of SQLite since 0.1.0.
  { path: /^packages\/store\/src\/sqlite\/|^bench\/api\/write-fleet-store\.ts$/, words: /^told$/i },
  // A field of 0.1.0.
  { path: /^packages\/control-plane\/src\/upgrades\/from-0-1-0/, words: /^flights$/i },
  // Acts in recorded runs.
  { path: /^simulation\/virtual\/acts\/perform\.ts$/, words: /./ },
]

/** One term per meaning, and the one that people search for: in names, comments and texts of all sources. */
export function checkTerms(tree: Tree): Violation[] {
  return tree.sources.flatMap(({ path, lines, code }) =>
    lines.flatMap((line, index) => {
      const everywhere = inWords(line)
      const names = inWords(code[index] ?? '')
      return TERMS.flatMap(({ word, use, in: place }) => {
        const [found] = word.exec(place === 'code' ? names : everywhere) ?? []
        if (found === undefined || isExcepted(path, found)) return []
        return [{ path, line: index + 1, rule: `the word ${found}`, use }]
      })
    }),
  )
}

/** Identifiers are split into words: `inFlightMax` and `IN_FLIGHT_MAX` become three. */
const inWords = (text: string): string => text.replaceAll('_', ' ').replace(/([a-z0-9])([A-Z])/g, '$1 $2')

const isExcepted = (file: string, word: string): boolean =>
  EXCEPT.some(({ path, words }) => path.test(file) && words.test(word))
