import type { Command, Option } from 'commander'

/** Every command with its arguments and options, as a page of the documentation. */
export function referencePage(program: Command, hidden: ReadonlySet<string>): string {
  const groups = program.commands.filter(each => !hidden.has(each.name()))
  return `${[
    '# Command line',
    'Made by `npm run docs` from the commands themselves; a test compares.',
    `${program.description()} ID is an id or a unique name.`,
    '## Options of every command',
    optionTable(program.options),
    '## Exit codes',
    EXIT_CODES,
    ...groups.flatMap(groupParts),
  ].join('\n\n')}\n`
}

const EXIT_CODES = `| code | meaning |
|---|---|
| 0 | ok |
| 1 | failed |
| 2 | wrong use |
| 3 | not found |
| 4 | conflict: it is in another state, or was changed meanwhile |
| 5 | not allowed |
| 6 | unreachable |
| 130 | interrupted |`

function groupParts(group: Command): string[] {
  const own =
    group.commands.length === 0
      ? commandParts(group, '##')
      : [`## \`lcm ${group.name()}\``, sentence(group.description())]
  const examples = examplesOf(group)
  return [
    ...own,
    ...group.commands.flatMap(each => commandParts(each, '###')),
    ...(examples === '' ? [] : [`\`\`\`text\n${examples}\n\`\`\``]),
  ]
}

function commandParts(command: Command, heading: string): string[] {
  const names: string[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name())
  const args = command.registeredArguments.map(argument => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`
    return argument.required ? `<${name}>` : `[${name}]`
  })
  const aliases = command.aliases().map(alias => `\`${alias}\``)
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const notes = [
    sentence(command.description()),
    ...(aliases.length === 0 ? [] : [`Also ${aliases.join(', ')}.`]),
    ...(choices.length === 0 ? [] : [`One of ${choices.map(choice => `\`${choice}\``).join(', ')}.`]),
  ]
  const options = command.options.filter(option => !option.hidden)
  return [
    `${heading} \`${[...names, ...args].join(' ')}\``,
    notes.join(' '),
    ...(options.length === 0 ? [] : [optionTable(options)]),
  ]
}

const sentence = (text: string): string => (text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`)

const optionTable = (options: readonly Option[]): string =>
  [
    '| option | meaning |',
    '|---|---|',
    ...options.map(option => `| \`${option.flags.replaceAll('|', '\\|')}\` | ${meaningOf(option)} |`),
  ].join('\n')

function meaningOf({
  description,
  argChoices,
  defaultValue,
  defaultValueDescription,
  mandatory,
  negate,
}: Option): string {
  const choices = argChoices === undefined ? [] : [argChoices.map(choice => `\`${choice}\``).join(', ')]
  const fallback = defaultValueDescription ?? (negate || defaultValue === undefined ? undefined : String(defaultValue))
  const more = [
    ...choices,
    ...(fallback === undefined ? [] : [`default \`${fallback}\``]),
    ...(mandatory ? ['required'] : []),
  ]
  return `${description}${more.length === 0 ? '' : ` (${more.join('; ')})`}`.replaceAll('|', '\\|')
}

/** What its help says behind everything else. */
function examplesOf(group: Command): string {
  let text = ''
  const write = (part: string) => {
    text += part
  }
  group.configureOutput({ writeOut: write }).outputHelp()
  return text.slice(group.helpInformation().length).trim()
}
