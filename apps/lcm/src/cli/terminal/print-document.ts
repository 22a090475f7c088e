import type { Format } from '../option-parsers.ts'
import { toJson, toYaml } from './data-text.ts'
import type { Colors, Output } from './output.ts'
import { printable } from './table.ts'

/** A result that is not a list of resources, in all output formats. */
export interface Document {
  /** Data for JSON and YAML. */
  readonly data: unknown
  /** Lines for `-o name`. */
  names(): readonly string[]
  lines(colors: Colors): readonly string[]
}

export async function printDocument(document: Document, format: Format, output: Output): Promise<void> {
  switch (format) {
    case 'json':
      return output.out(toJson(document.data, 2))
    case 'yaml':
      return output.out(await toYaml(document.data))
    case 'name':
      return document.names().map(printable).forEach(output.out)
    case 'table':
      return document.lines(output.colors).forEach(output.out)
  }
}
