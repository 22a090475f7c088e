import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Logger } from '@lcm/runtime'
import { readYamlFile } from './yaml-file.ts'

/** Reads the templates of a folder. An invalid file is logged and skipped, because it must not prevent the start. */
export function readTemplateFiles(folder: string | null, log: Logger): WorkerTemplateSpec[] {
  if (folder === null) return []
  const files = readdirSync(folder)
    .filter(name => /\.ya?ml$/.test(name))
    .sort()
  return files.flatMap(name => {
    try {
      return [WorkerTemplateSpec.parse(readYamlFile(join(folder, name)))]
    } catch (err) {
      log.warn({ file: name, err }, 'skipping an invalid template file')
      return []
    }
  })
}
