import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** The commit that is measured, with a plus when files have been changed since. A copy without its history can be measured too. */
export function commitNow() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  if (!existsSync(join(root, '.git'))) return 'unknown'
  const changed = git('status', '--porcelain', '--', 'packages', 'apps', 'simulation')
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`
}
