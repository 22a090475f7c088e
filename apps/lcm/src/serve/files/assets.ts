import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds what ships beside the code: seen from the bundle and from the sources alike. */
function installation(): string | null {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'deploy', 'templates'))) return folder
  }
  return null
}

/** Null where it was not built or does not ship. */
export function assetFolder(...path: string[]): string | null {
  const root = installation()
  const folder = root === null ? null : join(root, ...path)
  return folder !== null && existsSync(folder) ? folder : null
}
