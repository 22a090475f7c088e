import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root folder of the installation, from the bundle as well as from the sources. */
function installation(): string | null {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'deploy', 'templates'))) return folder
  }
  return null
}

/** A folder of the installation; null if it does not exist. */
export function assetFolder(...path: string[]): string | null {
  const root = installation()
  const folder = root === null ? null : join(root, ...path)
  return folder !== null && existsSync(folder) ? folder : null
}
