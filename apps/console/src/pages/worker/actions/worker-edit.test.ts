import { expect, it } from 'vitest'
import { labelsText } from './labels.ts'
import { patchOf } from './worker-edit.ts'

const opened = { name: 'found  by discovery', labels: { team: 'net' } }

it('says anew only what was typed, so that nothing is taken back that others changed meanwhile', () => {
  expect(patchOf(opened, 'metal-1', labelsText(opened.labels))).toEqual({ name: 'metal-1' })
  expect(patchOf(opened, opened.name, '')).toEqual({ labels: {} })
  expect(patchOf(opened, `${opened.name} `, labelsText(opened.labels))).toEqual({})
})
