import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh'] as const
export type ShellName = (typeof SHELLS)[number]

const flagsOf = (command: Command): string[] => command.options.flatMap(option => option.long ?? [])

/** The arms of a `case` over the chain of commands so far. Behind a command without further ones anything may stand. */
function casesOf(command: Command, chain = ''): string[] {
  const nested = command.commands.flatMap(each => [each.name(), ...each.aliases()].map(name => [name, each] as const))
  const choices = [...nested.map(([name]) => name), ...flagsOf(command)].join(' ')
  return [
    `    '${chain}'${nested.length === 0 ? '*' : ''}) choices='${choices}' ;;`,
    ...nested.flatMap(([name, each]) => casesOf(each, `${chain} ${name}`)),
  ]
}

interface Dialect {
  /** The words before the one that is being typed. */
  readonly before: string
  /** Offers `$choices`. */
  readonly offer: string
  readonly register: string
}

const DIALECTS: Readonly<Record<ShellName, Dialect>> = {
  bash: {
    before: `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`,
    offer: `COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    register: 'complete -F _lcm lcm',
  },
  zsh: {
    before: `"\${(@)words[2,CURRENT-1]}"`,
    offer: `compadd -- \${=choices}`,
    register: 'compdef _lcm lcm',
  },
}

/** A script that makes a shell complete the commands and options of `program`. */
export function completionScript(program: Command, shell: ShellName): string {
  const { before, offer, register } = DIALECTS[shell]
  return `_lcm() {
  local word chain='' choices=''
  for word in ${before}; do
    [[ $word == -* ]] || chain+=" $word"
  done
  case "$chain" in
${casesOf(program).join('\n')}
  esac
  choices+=' ${flagsOf(program).join(' ')}'
  ${offer}
}
${register}`
}
