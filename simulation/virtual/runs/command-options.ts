import { parseArgs } from 'node:util'
import type { RunSize } from '../acts/plan.ts'

/** The parsed command line. */
export type Command =
  | { readonly what: 'runs'; readonly from: number; readonly count: number; readonly size: RunSize }
  | { readonly what: 'replay'; readonly file: string }
  | { readonly what: 'mutants'; readonly names: readonly string[] }
  | { readonly what: 'crashes' | 'saves' | 'calm-days'; readonly from: number; readonly count: number }

/** Its message is shown to the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const USAGE = `usage: npm run sim -- one of
  --seed N [--hours H] [--workers W]             one run; default size: half an hour, three workers
  --runs K [--from N] [--hours H] [--workers W]  many runs
  --replay FILE                                  replay a plan written by a failed run
  --mutants [NAME ...]                           hunt all mutants, or only these
  --crashes K [--from N]                         crash before and after every port call, for K seeds
  --saves K [--from N]                           crash the API at random calls of its store while it saves labs, in K runs
  --calm-days K [--from N]                       classes on a cloud without faults: admitted sessions without capacity
The last line of the output is a JSON summary.`

const BRISK: RunSize = { workers: 3, hours: 0.5, pace: 'brisk' }
const LONG: RunSize = { workers: 10, hours: 6, pace: 'long' }

const KINDS = ['seed', 'runs', 'replay', 'mutants', 'crashes', 'saves', 'calm-days'] as const
/** Commands that take a size, and commands that take a first seed. */
const SIZED: readonly string[] = ['seed', 'runs']
const MANY: readonly string[] = ['runs', 'crashes', 'saves', 'calm-days']

/** Parses the options; throws UsageError. `known`: the names of all mutants. */
export function parseCommand(args: readonly string[], known: readonly string[]): Command {
  const { values, positionals } = parsed(args)
  const kinds = KINDS.filter(kind => values[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined) throw usageError(`choose one of ${withDashes(KINDS)}`)
  if (kinds.length > 1) throw usageError(`${withDashes(kinds)} can't be combined`)
  const misplaced = [
    ...(SIZED.includes(kind) ? [] : (['hours', 'workers'] as const)),
    ...(MANY.includes(kind) ? [] : (['from'] as const)),
  ].find(name => values[name] !== undefined)
  if (misplaced !== undefined) throw usageError(`--${misplaced} can't be used with --${kind}`)
  if (kind !== 'mutants' && positionals.length > 0)
    throw usageError(`${positionals.join(' ')} can't be used with --${kind}`)
  switch (kind) {
    case 'seed':
      return { what: 'runs', from: whole('seed', values.seed, 0), count: 1, size: sizeOf(values) }
    case 'runs':
      return { what: 'runs', from: firstOf(values), count: whole('runs', values.runs, 1), size: sizeOf(values) }
    case 'replay':
      return { what: 'replay', file: values.replay ?? '' }
    case 'mutants':
      return { what: 'mutants', names: knownOnly(positionals, known) }
    case 'crashes':
    case 'saves':
    case 'calm-days':
      return { what: kind, from: firstOf(values), count: whole(kind, values[kind], 1) }
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: withValues(args),
      allowPositionals: true,
      options: {
        seed: { type: 'string' },
        runs: { type: 'string' },
        from: { type: 'string' },
        hours: { type: 'string' },
        workers: { type: 'string' },
        replay: { type: 'string' },
        mutants: { type: 'boolean' },
        crashes: { type: 'string' },
        saves: { type: 'string' },
        'calm-days': { type: 'string' },
      },
    })
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** A negative number is the value of the option before it. */
const withValues = (args: readonly string[]): string[] =>
  args.flatMap((arg, at) => {
    if (isNegative(arg) && args[at - 1]?.startsWith('--')) return []
    const next = args[at + 1]
    return [next !== undefined && arg.startsWith('--') && isNegative(next) ? `${arg}=${next}` : arg]
  })

const isNegative = (arg: string): boolean => /^-[\d.]/.test(arg)

/** The default is a brisk run. */
function sizeOf({ hours, workers }: { readonly hours?: string; readonly workers?: string }): RunSize {
  if (hours === undefined && workers === undefined) return BRISK
  return {
    ...LONG,
    ...(hours === undefined ? {} : { hours: positive('hours', hours) }),
    ...(workers === undefined ? {} : { workers: whole('workers', workers, 1) }),
  }
}

const firstOf = ({ from = '1' }: { readonly from?: string }): number => whole('from', from, 0)

function whole(name: string, text = '', atLeast: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= atLeast) return number
  throw usageError(`--${name} takes a whole number from ${atLeast}, not ${JSON.stringify(text)}`)
}

function positive(name: string, text: string): number {
  const number = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && Number.isFinite(number) && number > 0) return number
  throw usageError(`--${name} takes a number above 0, not ${JSON.stringify(text)}`)
}

function knownOnly(names: readonly string[], known: readonly string[]): readonly string[] {
  const unknownName = names.find(name => !known.includes(name))
  if (unknownName === undefined) return names
  throw usageError(
    `unknown mutant ${JSON.stringify(unknownName)}; choose from ${known.map(name => JSON.stringify(name)).join(', ')}`,
  )
}

const withDashes = (names: readonly string[]): string => names.map(name => `--${name}`).join(', ')

const usageError = (problem: string): UsageError => new UsageError(`sim: ${problem.replace(/\.$/, '')}.\n${USAGE}`)
