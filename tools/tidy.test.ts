import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readTree } from './tidy/repository-tree.ts'
import { printed, RULES } from './tidy/rules.ts'

const tree = readTree(fileURLToPath(new URL('..', import.meta.url)))

describe('house rules', () => {
  for (const rule of RULES) {
    it(rule.name, () => {
      const broken = rule.check(tree).map(printed)
      if (broken.length > 0) expect.fail(`\n${broken.join('\n')}`)
    })
  }
})
