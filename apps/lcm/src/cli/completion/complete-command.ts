import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import { withTimeout } from '../../doctor/timeout.ts'
import type { Shell } from '../command-dependencies.ts'
import { connect } from '../connection.ts'
import type { GlobalOptions } from '../global-options.ts'
import { LICENSE_POOLS } from '../license/license-pool-kind.ts'
import { NOTIFICATIONS, TARGETS } from '../notification/notification-kinds.ts'
import { PEOPLE } from '../person/person-kind.ts'
import { DEFINITIONS, type Kind, LABS, LEAKS, SERVICES, SESSIONS, TEMPLATES, WORKERS } from '../resource-kinds.ts'
import { handlesOf, type Resource } from '../resource-view.ts'
import { SAVES } from '../save/save-kind.ts'
import { TOKENS } from '../token/token-kind.ts'
import { type Noun, offerFor } from './completion-suggestions.ts'

/** A completion that takes longer is dropped. */
const TIMEOUT_MS = 1_000

/**
 * `lcm __complete`, which the completion scripts call. `whole` returns the program with all of its groups defined, so that their
 * commands can be completed.
 */
export function defineComplete(complete: Command, shell: Shell, whole: () => Promise<Command>): void {
  complete
    .argument('[words...]', 'Words after lcm; the last one is incomplete')
    .action(async (words: readonly string[]) => {
      const program = await whole()
      const { words: ours, noun, prefix } = offerFor(program, words)
      const names = noun === null ? [] : await knownNames(noun, globalsIn(program, words), shell)
      const current = words.at(-1) ?? ''
      for (const word of [...ours, ...names].map(each => `${prefix}${each}`))
        if (word.startsWith(current)) shell.stdout.write(`${word}\n`)
    })
    .addHelpText('afterAll', '\nExamples:\n  lcm __complete -- get wo     list completions of "get wo"')
}

/** The connection options among the typed words. */
function globalsIn(program: Command, words: readonly string[]): GlobalOptions {
  const typed = rejoined(words)
  const valuesOf = (long: string) =>
    typed.flatMap((word, at) => {
      if (word === long) return typed[at + 1] ?? []
      return word.startsWith(`${long}=`) ? word.slice(long.length + 1) : []
    })
  const given = program.options.flatMap(({ long }) => (long ? valuesOf(long).map(value => [long.slice(2), value]) : []))
  return { color: false, ...Object.fromEntries(given) }
}

/** Joins words again: Bash splits `--url=http://a:1` at each `=` and `:`. */
const rejoined = (words: readonly string[]): string[] =>
  words
    .join('\n')
    .replaceAll(/\n([=:])(?:\n|$)/g, '$1')
    .split('\n')

/** Returns no names if the API does not respond in time or denies access, because the user is typing. */
async function knownNames(noun: Noun, globals: GlobalOptions, shell: Shell): Promise<readonly string[]> {
  try {
    const asking = async (signal: AbortSignal) => namesOf(noun, (await connect(globals, shell)).client, signal)
    return (await withTimeout(shell.clock, shell.signal, asking, TIMEOUT_MS)) ?? []
  } catch {
    return []
  }
}

type List = (client: Client, signal: AbortSignal) => Promise<readonly string[]>

const listing =
  <T extends Resource>(kind: Kind<T>): List =>
  async (client, signal) =>
    handlesOf(kind.view, (await kind.list(client, false, signal)).items)

const LISTS: Readonly<Record<Noun, List>> = {
  worker: listing(WORKERS),
  template: listing(TEMPLATES),
  definition: listing(DEFINITIONS),
  session: listing(SESSIONS),
  lab: listing(LABS),
  save: listing(SAVES),
  service: listing(SERVICES),
  'license-pool': listing(LICENSE_POOLS),
  leak: listing(LEAKS),
  person: listing(PEOPLE),
  token: listing(TOKENS),
  target: listing(TARGETS),
  notification: listing(NOTIFICATIONS),
}

/** Current names of the resources of a noun. */
const namesOf = (noun: Noun, client: Client, signal: AbortSignal): Promise<readonly string[]> =>
  LISTS[noun](client, signal)
