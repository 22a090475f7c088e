// Packages that a bundle leaves out.
import { isAbsolute } from 'node:path'

/** Our packages export TypeScript and are bundled; what npm installed stays where it is and is found from the bundle's folder. */
export const isInstalled = id =>
  !id.startsWith('.') && !id.startsWith('@lcm/') && !id.startsWith('\0') && !isAbsolute(id)
