import type { Format } from '../invocation.ts'
import { toYaml } from '../resource-view.ts'
import type { Colors, Output } from './output.ts'
import { printable } from './table.ts'

/** An answer that is no list of resources, in all the ways that it can be printed. */
export interface Document {
  /** For programs. */
  readonly told: unknown
  /** What it is about, one name a line. */
  names(): readonly string[]
  lines(colors: Colors): readonly string[]
}

export async function printDocument(document: Document, format: Format, output: Output): Promise<void> {
  switch (format) {
    case 'json':
      return output.out(JSON.stringify(document.told, null, 2))
    case 'yaml':
      return output.out(await toYaml(document.told))
    case 'name':
      return document.names().map(printable).forEach(output.out)
    case 'table':
      return document.lines(output.colors).forEach(output.out)
  }
}
