import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { TaggedTopology, withPorts } from '@lcm/domain/lab/ports'
import { Topology } from '@lcm/domain/lab/topology'
import { Composer, type CST, Lexer, Parser } from 'yaml'

/** The API refuses aliases and duplicate keys far below this limit. */
const ALIASES_MAX = 100
/** Words that are parsed before other work may run; they take a few milliseconds. */
const WORDS_PER_SLICE = 2_000

/**
 * The topology as CML imports it, with the allocated ports. JSON is valid YAML and needs no quoting rules. A saved topology was
 * written by CML, perhaps by a later release than LCM knows, so only its tags are read.
 */
export async function topologyToImport(
  { topology, port_template }: Pick<LabletDefinition, 'topology' | 'port_template'>,
  ports: Readonly<Record<string, number>>,
  pause: () => Promise<void>,
): Promise<string> {
  const parsed = TaggedTopology.parse(await parsedYaml(topology ?? '', pause))
  return JSON.stringify(withPorts(parsed, port_template, ports))
}

/** The same options as in the API, whatever YAML version the file declares. */
const AS_JUDGED = { schema: 'core', uniqueKeys: false, stringKeys: true } as const

/** The API has validated it. */
export const topologyOf = async ({ topology }: LabletDefinition, pause: () => Promise<void>): Promise<Topology> =>
  Topology.parse(await parsedYaml(topology ?? '', pause))

/** Other work runs while a long text is parsed. */
async function parsedYaml(text: string, pause: () => Promise<void>): Promise<unknown> {
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
  return document?.toJS({ maxAliasCount: ALIASES_MAX })
}
