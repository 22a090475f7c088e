import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** The measured commit, with a plus when files were changed; unknown in a copy without git history. */
export function commitNow() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  if (!existsSync(join(root, '.git'))) return 'unknown'
  const changed = git('status', '--porcelain', '--', 'packages', 'apps', 'simulation')
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`
}
