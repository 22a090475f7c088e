// Finds a real browser for the suites that need one. Plain Node.
import { ensureProgram } from './ensure-program.mjs'

/** Resolves with the path of Chromium. Rejects with one sentence that says how to get it. Without windows it takes half the time. */
export function ensureChromium() {
  return ensureProgram({
    programs: ['chromium-headless-shell', 'chromium'],
    debianPackage: 'chromium-headless-shell',
    howToGetIt:
      'Chromium is not on the PATH; install it (Debian: chromium-headless-shell; Ubuntu has chromium as a snap).',
  })
}
