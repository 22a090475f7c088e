import { blocksOf, inlineCodeOf, type Page } from './markdown-pages.ts'

interface Option {
  readonly takesValue: boolean
  readonly choices: readonly string[]
  readonly isRequired: boolean
}

interface Command {
  readonly options: ReadonlyMap<string, Option>
  readonly least: number
  readonly most: number
  readonly hasSubcommands: boolean
}

/** All commands by their words, as docs/reference/cli.md has them, which a test holds to the program itself. */
export type Grammar = ReadonlyMap<string, Command>

export interface CommandLine {
  readonly text: string
  readonly place: string
  /** Named in a sentence: what it needs may be left out. */
  readonly isMention: boolean
}

export function grammarOf(reference: string): Grammar {
  const [preface = '', ...sections] = reference.split(/^(?=#{2,3} `lcm )/m)
  const everywhere = optionsIn(preface)
  const heads = sections.map(section => /^#{2,3} `lcm ([^`]+)`/.exec(section)?.[1] ?? '')
  return new Map(
    sections.map((section, index) => {
      const words = (heads[index] ?? '').split(' ')
      const name = words.filter(word => /^[\w-]/.test(word)).join(' ')
      const places = words.filter(word => /^[<[]/.test(word))
      return [
        name,
        {
          options: new Map([...everywhere, ...optionsIn(section)]),
          least: places.filter(place => place.startsWith('<')).length,
          most: places.some(place => place.includes('...')) ? Number.POSITIVE_INFINITY : places.length,
          hasSubcommands: heads.some(head => head.startsWith(`${name} `) && /^[\w-]/.test(head.slice(name.length + 1))),
        },
      ]
    }),
  )
}

function optionsIn(section: string): Map<string, Option> {
  const rows = [...section.matchAll(/^\| `(-[^`]+)` \| (.*) \|$/gm)]
  const options = rows.flatMap(([, flags = '', meaning = '']) => {
    const list = /\((`[^)]*`)\)/.exec(meaning)?.[1]?.split(', ') ?? []
    const choices = list.every(each => /^`[\w-]+`$/.test(each)) ? list.map(each => each.slice(1, -1)) : []
    const option = { takesValue: flags.includes('<'), choices, isRequired: meaning.endsWith('(required)') }
    return [...flags.matchAll(/--?[\w-]+/g)].map(([flag]) => [flag, option] as const)
  })
  return new Map([...options, ['-h', FLAG], ['--help', FLAG]])
}
const FLAG: Option = { takesValue: false, choices: [], isRequired: false }

/** Every `lcm …` in a block of shell commands, and those that sentences mention. */
export function commandLinesOf({ path, text }: Page): CommandLine[] {
  const given = blocksOf(text)
    .filter(({ language }) => language === 'sh')
    .flatMap(block =>
      joined(block.text).map(([line, index]) => ({
        text: line,
        place: `${path}:${block.line + index}`,
        isMention: false,
      })),
    )
  const mentioned = inlineCodeOf(text).map(code => ({
    text: code.text,
    place: `${path}:${code.line}`,
    isMention: true,
  }))
  return [...given, ...mentioned].flatMap(line => {
    const command = /^\s*(?:[A-Z_]+=\S+ +)*(?:npx +)?lcm(?: +(.*))?$/.exec(withoutComment(line.text))?.[1]
    return command === undefined ? [] : [{ ...line, text: command.trim() }]
  })
}

/** Lines with those that they go on in. */
function joined(text: string): [string, number][] {
  const lines: [string, number][] = []
  let goesOn = false
  for (const [index, line] of text.split('\n').entries()) {
    const last = lines.at(-1)
    if (goesOn && last !== undefined) last[0] = `${last[0].slice(0, -1)} ${line.trim()}`
    else lines.push([line, index])
    goesOn = line.endsWith('\\')
  }
  return lines
}

const withoutComment = (line: string): string => line.replace(/ +#.*$| +(?:\||>|&&) .*$| +&$/, '')

/** The fault of a command line, or null. */
export function fault(grammar: Grammar, { text, isMention }: CommandLine): string | null {
  const words = [...text.matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word)
  const { name, command, rest } = commandAt(grammar, words)
  if (command === undefined) return rest[0]?.startsWith('-') || rest.length === 0 ? null : `no command ${rest[0]}`
  const seen = new Set<string>()
  let arguments_ = 0
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? ''
    if (!/^--?[a-z]/i.test(word)) {
      arguments_ += 1
      continue
    }
    const [flag = '', inline] = word.split('=')
    const option = command.options.get(flag)
    if (option === undefined) return `lcm ${name} has no ${flag}`
    seen.add(flag)
    if (!option.takesValue) continue
    const value = inline ?? rest[++at]
    if (value === undefined && !isMention) return `${flag} needs a value`
    if (value !== undefined && isWrong(value, option)) return `${flag} can't be ${value}`
  }
  if (command.hasSubcommands && arguments_ > 0) return `lcm ${name} has no ${rest.find(word => !word.startsWith('-'))}`
  if (arguments_ > command.most) return `lcm ${name} takes ${command.most} words, not ${arguments_}`
  return isMention ? null : missing(name, command, arguments_, seen)
}

const isWrong = (value: string, { choices }: Option): boolean =>
  choices.length > 0 && !choices.includes(value) && !/^(?:[A-Z]+|\$\w+)$/.test(value)

function missing(name: string, command: Command, arguments_: number, seen: ReadonlySet<string>): string | null {
  if (command.hasSubcommands) return `lcm ${name} needs another word`
  if (arguments_ < command.least) return `lcm ${name} needs ${command.least} words`
  const lacking = [...command.options].find(
    ([flag, { isRequired }]) => isRequired && flag.startsWith('--') && !seen.has(flag),
  )
  const isShort = lacking !== undefined && [...seen].some(flag => command.options.get(flag) === lacking[1])
  return lacking === undefined || isShort ? null : `lcm ${name} needs ${lacking[0]}`
}

/** The longest row of words that is a command; the options of every command may come before. */
function commandAt(grammar: Grammar, words: readonly string[]) {
  const first = words.findIndex((word, at) => !word.startsWith('-') && !isValueOf(words[at - 1]))
  const [verb = '', noun = ''] = first < 0 ? [] : words.slice(first)
  const names = [`${verb} ${noun}`, `${verb} ${noun}s`, `${verb} ${noun.replace(/s$/, '')}`]
  const name = names.find(each => grammar.has(each)) ?? verb
  const taken = name === verb ? 1 : 2
  const rest = first < 0 ? words : [...words.slice(0, first), ...words.slice(first + taken)]
  return { name, command: grammar.get(name), rest: grammar.has(name) ? rest : words.slice(Math.max(first, 0)) }
}

const isValueOf = (before: string | undefined): boolean => before !== undefined && /^--(url|token|data)$/.test(before)
