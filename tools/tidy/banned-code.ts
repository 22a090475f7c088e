import type { Source } from './parse-source.ts'
import { isTest, type Tree, type Violation } from './repository-tree.ts'

interface Ban {
  readonly text: string
  readonly pattern: RegExp
  readonly use: string
  /** Comments are read only for bans on words in them. */
  readonly in?: 'comments'
  /** The one allowed place. */
  readonly except?: RegExp
  /** Files that it applies to; by default all. */
  readonly only?: (path: string) => boolean
}

/** The system clock, the browser's, and tools that run before the packages are installed. */
const CLOCKS = /^packages\/runtime\/src\/clock\.ts$|^apps\/console\/src\/state\/browser-clock\.ts$|^tools\/.+\.mjs$/
const MAIN = /^apps\/[^/]+\/src\/main\.tsx?$/
const inDomain = (path: string) => path.startsWith('packages/domain/src/') && !isTest(path)

const inSources = (path: string) => /^(packages|apps|simulation)\//.test(path) && !isTest(path)
const MATCHING =
  'startsWith|endsWith|includes|match|matchAll|search|indexOf|lastIndexOf|split|slice|substring|replace|replaceAll'
const REASON = String.raw`\b(?:because|reason|waiting_reason|waitingReason)`
/** Comparing, splitting or searching a reason or its message, or searching for it. */
const READING_REASONS = [
  String.raw`${REASON}\??\.message\)?\s*(?:[!=]==?|\??\.(?:${MATCHING})\()`,
  String.raw`[!=]==?\s*(?:[\w.?[\]]*\.)?${REASON}\??\.message\b`,
  String.raw`\.(?:test|exec|${MATCHING})\((?:[\w.?[\]]*\.)?${REASON}\??\.message[),]`,
  // Other fields named `reason` hold texts of users.
  String.raw`\b(?:because|waiting_reason)\??\.(?:${MATCHING})\(`,
  String.raw`\.(?:test|exec|${MATCHING})\((?:[\w.?[\]]*\.)?(?:because|waiting_reason)[),]`,
]

const BANS: readonly Ban[] = [
  {
    text: 'reading the words of a reason',
    pattern: new RegExp(READING_REASONS.join('|')),
    use: 'its code and params, or sameReason',
    only: inSources,
  },
  { text: 'Date.now(', pattern: /\bDate\.now\(/, use: 'clock.now()', except: CLOCKS },
  { text: 'new Date()', pattern: /\bnew Date\(\)/, use: 'clock.now()', except: CLOCKS },
  { text: 'performance.now(', pattern: /\bperformance\.now\(/, use: 'clock.monotonic()', except: CLOCKS },
  { text: 'setTimeout(', pattern: /\bsetTimeout\(/, use: 'clock.after or clock.sleep', except: CLOCKS },
  { text: 'setInterval(', pattern: /\bsetInterval\(/, use: 'a loop over clock.sleep', except: CLOCKS },
  { text: 'node:timers', pattern: /\bnode:timers\b/, use: 'clock.sleep', except: CLOCKS },
  { text: 'AbortSignal.timeout(', pattern: /\bAbortSignal\.timeout\(/, use: 'clock.after and an AbortController' },
  {
    text: 'setImmediate(',
    pattern: /\bsetImmediate\(/,
    use: 'await on what is waited for',
    except: /^packages\/testkit\//,
  },
  { text: 'Math.random(', pattern: /\bMath\.random\(/, use: 'the random port given from outside' },
  {
    text: 'crypto randomness',
    pattern: /\bcrypto\.(random|getRandom)|\bimport\b.*\brandom(UUID|Bytes|Int)\b.*\bcrypto\b/,
    use: 'the random port; the wiring in apps/lcm/src/serve or main.ts provides it',
    except: /^apps\/(lcm\/src\/serve\/|[^/]+\/src\/main\.ts$)|^simulation\/cluster\//,
  },
  {
    text: 'process.env',
    pattern: /\bprocess\.env\b/,
    use: 'config.ts, given the environment by main.ts',
    except: new RegExp(`${MAIN.source}|^(tools|bench)/`),
  },
  {
    text: 'console.',
    pattern: /\bconsole\.\w/,
    use: 'the Logger; in the cli, output.ts',
    except: /^(tools|bench|examples)\/|^apps\/lcm\/src\/cli\/terminal\/output\.ts$/,
  },
  {
    text: 'mocking by vi',
    pattern: /\bvi\.(mock|doMock|spyOn|fn|stubGlobal|stubEnv|useFakeTimers)\(/,
    use: 'a fake that passes the conformance suite, or the manual clock',
  },
  {
    text: 'createRequire(',
    pattern: /\bcreateRequire\(/,
    use: 'import, or import() of a name in quotes',
  },
  { text: '/// <reference', pattern: /^\s*\/\/\/\s*<reference\b/, use: 'an import', in: 'comments' },
  { text: 'as any', pattern: /\bas any\b/, use: 'a schema that parses it' },
  { text: 'as unknown as', pattern: /\bas unknown as\b/, use: 'a schema that parses it, or a narrower type' },
  { text: 'export default', pattern: /\bexport default\b/, use: 'a named export', except: /\.config\.ts$/ },
  { text: 'enum', pattern: /\benum\s+\w/, use: 'a union of literals' },
  { text: '@ts- comment', pattern: /@ts-(ignore|expect-error|nocheck)\b/, use: 'the right type', in: 'comments' },
  { text: 'unfinished work', pattern: /\b(TODO|FIXME|XXX)\b/, use: 'finishing it before merge', in: 'comments' },
  { text: 'async in domain', pattern: /\b(async|await)\b/, use: 'a decision over facts already read', only: inDomain },
  { text: 'Promise in domain', pattern: /\bPromise\b/, use: 'a decision over facts already read', only: inDomain },
  { text: 'node: in domain', pattern: /['"]node:/, use: 'facts given as arguments', only: inDomain },
  {
    text: 'Date in domain',
    pattern: /\bDate\b/,
    use: 'packages/domain/src/instant.ts, or nowMs as an argument',
    only: inDomain,
    except: /^packages\/domain\/src\/instant\.ts$/,
  },
]

export function checkBans(tree: Tree): Violation[] {
  return tree.sources.flatMap(source => BANS.filter(ban => applies(ban, source.path)).flatMap(ban => uses(ban, source)))
}

function applies({ only, except }: Ban, path: string): boolean {
  return (only?.(path) ?? true) && !except?.test(path)
}

function uses(ban: Ban, source: Source): Violation[] {
  const lines = ban.in === 'comments' ? source.comments : source.code
  return lines.flatMap((text, index) =>
    ban.pattern.test(text) ? [{ path: source.path, line: index + 1, rule: `${ban.text} is banned`, use: ban.use }] : [],
  )
}
