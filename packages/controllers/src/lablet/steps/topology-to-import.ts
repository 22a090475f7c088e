import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { withPorts } from '@lcm/domain/lab/ports'
import { Topology } from '@lcm/domain/lab/topology'
import { Composer, type CST, Lexer, Parser } from 'yaml'

/** The API refuses aliases and duplicate keys far below this limit. */
const ALIASES_MAX = 100
/** Words that are parsed before other work may run; they take a few milliseconds. */
const WORDS_PER_SLICE = 2_000

/** The topology as CML imports it, with the allocated ports. JSON is valid YAML and needs no quoting rules. */
export async function topologyToImport(
  definition: LabletDefinition,
  ports: Readonly<Record<string, number>>,
  pause: () => Promise<void>,
): Promise<string> {
  return JSON.stringify(withPorts(await topologyOf(definition, pause), definition.port_template, ports))
}

/** The same options as in the API, whatever YAML version the file declares. */
const AS_JUDGED = { schema: 'core', uniqueKeys: false, stringKeys: true } as const

/** The API has validated it. Other work runs while a long topology is parsed. */
export async function topologyOf({ topology }: LabletDefinition, pause: () => Promise<void>): Promise<Topology> {
  const text = topology ?? ''
  const tokens: CST.Token[] = []
  const parser = new Parser()
  let words = 0
  for (const word of new Lexer().lex(text)) {
    for (const token of parser.next(word)) tokens.push(token)
    words += 1
    if (words % WORDS_PER_SLICE === 0) await pause()
  }
  tokens.push(...parser.end())
  const [document] = [...new Composer(AS_JUDGED).compose(tokens, true, text.length)]
  if (words > WORDS_PER_SLICE) await pause()
  return Topology.parse(document?.toJS({ maxAliasCount: ALIASES_MAX }))
}
