import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type ShellName = (typeof SHELLS)[number]

/** The hidden command that completion scripts call. It must be fast, and print nothing on errors. */
export const COMPLETE = '__complete'

/** Candidates for the current word: fixed words, and a noun whose resource names the API knows. */
export interface Offer {
  readonly words: readonly string[]
  /** Such as `worker`; null if no resource name is expected. */
  readonly noun: Noun | null
  /** The part of the current word before each candidate: `--output=` in `--output=j`. */
  readonly prefix: string
}

const NOTHING: Offer = { words: [], noun: null, prefix: '' }

/** Candidates for the last word of `typed`. */
export function offerFor(program: Command, typed: readonly string[]): Offer {
  const before = typed.slice(0, -1)
  const current = typed.at(-1) ?? ''
  const prefix = /^--[^=]+=/.exec(current)?.[0] ?? ''
  const { command, operands, pending } = walked(program, prefix === '' ? before : [...before, prefix.slice(0, -1)])
  if (pending !== null) return { words: pending.choices, noun: nounOf(pending.name), prefix }
  if (prefix !== '') return NOTHING
  if (current.startsWith('-')) return { ...NOTHING, words: flagsOf(command, program) }
  const nested = command.commands.filter(each => !each.name().startsWith('__'))
  if (nested.length > 0) return { ...NOTHING, words: nested.flatMap(each => [each.name(), ...each.aliases()]) }
  const at = Math.min(operands, command.registeredArguments.length - 1)
  const argument = command.registeredArguments[at]
  if (argument === undefined || (operands > at && !argument.variadic)) return NOTHING
  return { ...NOTHING, words: argument.argChoices ?? [], noun: nounOf(argument.name(), command.name()) }
}

interface Walked {
  readonly command: Command
  /** Number of arguments typed so far. */
  readonly operands: number
  /** The option that expects a value next. */
  readonly pending: { readonly name: string; readonly choices: readonly string[] } | null
}

function walked(program: Command, words: readonly string[]): Walked {
  let at: Walked = { command: program, operands: 0, pending: null }
  for (const word of words) at = stepped(program, at, word)
  return at
}

function stepped(program: Command, { command, operands, pending }: Walked, word: string): Walked {
  // Bash splits `--output=json` into three words.
  if (pending !== null) return { command, operands, pending: word === '=' ? pending : null }
  if (word.startsWith('-')) {
    const option = [...command.options, ...program.options].find(each => each.long === word || each.short === word)
    const takes = option !== undefined && (option.required || option.optional)
    return { command, operands, pending: takes ? { name: option.name(), choices: option.argChoices ?? [] } : null }
  }
  const next = command.commands.find(each => each.name() === word || each.aliases().includes(word))
  return next === undefined
    ? { command, operands: operands + 1, pending: null }
    : { command: next, operands: 0, pending: null }
}

const flagsOf = (command: Command, program: Command): string[] => [
  ...new Set(
    [...command.options, ...program.options].filter(option => !option.hidden).flatMap(option => option.long ?? []),
  ),
  '--help',
]

const NOUNS = [
  'worker',
  'template',
  'definition',
  'session',
  'lab',
  'save',
  'service',
  'license-pool',
  'leak',
  'person',
  'token',
  'target',
  'notification',
] as const
export type Noun = (typeof NOUNS)[number]
const PLURALS: Partial<Record<Noun, string>> = { person: 'people', 'license-pool': 'licenses' }
const pluralOf = (noun: Noun): string => PLURALS[noun] ?? `${noun}s`

/** The noun of an argument: `get workers [id]` expects a worker, `book <definition>` a definition, `--template` a template. */
function nounOf(name: string, command = ''): Noun | null {
  if (name === 'resume') return 'save'
  const singular = (word: string) => NOUNS.find(noun => word === noun || word === pluralOf(noun)) ?? null
  return singular(name) ?? (name === 'id' || name === 'name' || name === 'product' ? singular(command) : null)
}

const SCRIPTS: Readonly<Record<ShellName, string>> = {
  // Resource names are untrusted: the shell must not expand them, so they are quoted.
  bash: `_lcm() {
  local typing=\${COMP_WORDS[COMP_CWORD]} word
  [ "$typing" = = ] && typing=
  COMPREPLY=()
  while IFS= read -r word; do
    [[ -n $word && $word = "$typing"* ]] && printf -v word %q "$word" && COMPREPLY+=("$word")
  done < <(lcm ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "$typing" 2>/dev/null)
}
complete -o default -F _lcm lcm`,
  zsh: `_lcm() {
  local -a offered
  offered=("\${(@f)$(lcm ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  offered=("\${(@)offered:#}")
  if (( \${#offered} )); then compadd -- "\${(@)offered}"; else compset -P '--*='; _files; fi
}
compdef _lcm lcm`,
  fish: `function __lcm_offers
  set -l typed (commandline -opc) (commandline -ct)
  set -l offered (lcm ${COMPLETE} -- $typed[2..-1] 2>/dev/null)
  if set -q offered[1]
    printf '%s\\n' $offered
  else
    set -l option (string match -r -- '^--[^=]+=' $typed[-1])
    printf "$option%s\\n" (__fish_complete_path (string replace -- "$option" '' $typed[-1]))
  end
end
complete -c lcm -f -a '(__lcm_offers)'`,
}

/** A shell script that calls `lcm` for completions, so that resource names are included. */
export const completionScript = (shell: ShellName): string => SCRIPTS[shell]
