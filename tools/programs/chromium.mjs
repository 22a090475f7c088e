// Finds a real browser for the suites that need one. Plain Node.
import { ensureProgram } from './debian.mjs'

/** Resolves with the path of `chromium`. Rejects with one sentence that says how to get it. */
export function ensureChromium() {
  return ensureProgram({
    program: 'chromium',
    debianPackage: 'chromium',
    howToGetIt: 'chromium is not on the PATH; install it (Debian: chromium; Ubuntu has it as a snap).',
  })
}
