import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import type { Logger } from '@lcm/runtime'
import { readYamlFile } from './yaml-file.ts'

/** The templates of a folder of YAML files. A bad file is reported and passed over: it must not keep the fleet from starting. */
export function readTemplateFiles(folder: string | null, log: Logger): WorkerTemplateSpec[] {
  if (folder === null) return []
  const files = readdirSync(folder)
    .filter(name => /\.ya?ml$/.test(name))
    .sort()
  return files.flatMap(name => {
    try {
      return [WorkerTemplateSpec.parse(readYamlFile(join(folder, name)))]
    } catch (err) {
      log.warn({ file: name, err }, 'a template file is passed over')
      return []
    }
  })
}
