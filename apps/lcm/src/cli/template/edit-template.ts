import type { Command } from 'commander'
import { parse } from 'yaml'
import { readManifests, readSources, type Source } from '../apply/manifests.ts'
import { stepFor } from '../apply/resource-changes.ts'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { yamlTrouble } from '../files/yaml-limits.ts'
import { findTemplate } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne, TEMPLATE_VIEW } from '../resource-view.ts'

interface EditTemplateOptions {
  readonly file: string
  readonly output?: Format
}

export function addEditTemplate(edit: Command, shell: Shell): void {
  edit
    .command('template <name>')
    .alias('templates')
    .description('Edit a template; existing workers do not change')
    .requiredOption('-f, --file <file>', 'YAML or JSON file, or - for standard input; omitted fields keep their value')
    .addOption(formatOption())
    .action(async (name: string, options: EditTemplateOptions, command: Command) =>
      editTemplate(name, options, invocation(command, shell)),
    )
}

async function editTemplate(idOrName: string, options: EditTemplateOptions, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const sources = await readSources(options.file, shell.readInput)
  const { client } = await connect()
  const current = await findTemplate(client, idOrName, shell.signal)
  const manifests = await readManifests(sources.map(source => named(source, current.name)))
  const [first] = manifests
  if (first === undefined || manifests.length > 1)
    throw new CliError(EXIT.usage, `${options.file} has ${manifests.length} documents`, `use one, or \`lcm apply\``)
  const { outcome } = await (await stepFor(client, first, manifests, shell.signal)).perform()
  if (options.output !== undefined) {
    const template = await findTemplate(client, current.name, shell.signal)
    return printOne(TEMPLATE_VIEW, template, { output, format: options.output, nowMs: shell.clock.now() })
  }
  if (!output.quiet) output.out(`template ${current.name} ${outcome}`)
}

/** Adds the name to the document. A document that names another template is refused. */
function named(source: Source, name: string): Source {
  const fields = fieldsIn(source.text)
  if (typeof fields !== 'object' || fields === null) return source
  const given = 'name' in fields ? fields.name : name
  if (given !== name)
    throw new CliError(
      EXIT.usage,
      `${source.name} is for template ${shortened(given)}, not ${name}`,
      'edit that template instead',
    )
  return { ...source, text: JSON.stringify({ ...fields, kind: 'Template', name }) }
}

const NAME_SHOWN_MAX = 60

const shortened = (given: unknown): string => String(given).slice(0, NAME_SHOWN_MAX)

/** Null if the text is not a single YAML document; `readManifests` then reports the error. */
function fieldsIn(text: string): unknown {
  if (yamlTrouble(text) !== null) return null
  try {
    const fields: unknown = parse(text, { logLevel: 'error' })
    // Fails for circular aliases, which can't be serialized.
    return JSON.parse(JSON.stringify(fields))
  } catch {
    return null
  }
}
