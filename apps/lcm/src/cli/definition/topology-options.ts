import { CliError, EXIT } from '../cli-error.ts'
import { readTextFile } from '../files/text-file.ts'

/** The source of a topology: a local file to upload, or an address to fetch it from. */
export interface TopologyOptions {
  readonly file?: string
  readonly source?: string
}

/** The topology fields of a request; null if no option sets them. */
export async function topologyGiven({
  file,
  source,
}: TopologyOptions): Promise<{ readonly topology: string } | { readonly source: string } | null> {
  if (file !== undefined && source !== undefined)
    throw new CliError(EXIT.usage, 'use either --file or --source, not both')
  if (source !== undefined) return { source }
  return file === undefined ? null : { topology: await readTopology(file) }
}

async function readTopology(file: string): Promise<string> {
  const text = await readText(file)
  if (text.trim() === '') throw new CliError(EXIT.failed, `${file} is empty`, 'give the YAML of a lab with --file')
  return text
}

const readText = (file: string): Promise<string> =>
  readTextFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code})`, 'give the YAML of a lab with --file')
  })
