import { CliError, EXIT } from '../exit-code.ts'
import { readTextFile } from '../files/text-file.ts'

/** Where a topology comes from: a file that is sent along, or an address that it is fetched from. */
export interface TopologyOptions {
  readonly file?: string
  readonly source?: string
}

/** What a request says of it; null when the options name none. */
export async function topologyGiven({
  file,
  source,
}: TopologyOptions): Promise<{ readonly topology: string } | { readonly source: string } | null> {
  if (file !== undefined && source !== undefined)
    throw new CliError(EXIT.usage, 'give the topology with --file or --source, not both')
  if (source !== undefined) return { source }
  return file === undefined ? null : { topology: await readTopology(file) }
}

async function readTopology(file: string): Promise<string> {
  const text = await readText(file)
  if (text.trim() === '') throw new CliError(EXIT.failed, `${file} is empty: give the YAML of a lab with --file`)
  return text
}

const readText = (file: string): Promise<string> =>
  readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code}): give the YAML of a lab with --file`)
  })
