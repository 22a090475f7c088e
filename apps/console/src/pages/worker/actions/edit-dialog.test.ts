import { expect, it } from 'vitest'
import { labelsOf, labelsText, patchOf } from './edit-dialog.tsx'

const opened = { name: 'found  by discovery', labels: { team: 'net' } }

it('sends only edited fields, so that changes by other users are kept', () => {
  expect(patchOf(opened, 'metal-1', labelsText(opened.labels))).toEqual({ name: 'metal-1' })
  expect(patchOf(opened, opened.name, '')).toEqual({ labels: {} })
  expect(patchOf(opened, `${opened.name} `, labelsText(opened.labels))).toEqual({})
})

it('converts labels to one line each and back', () => {
  const labels = { environment: 'prod', note: 'a=b c' }
  expect(labelsText(labels)).toBe('environment=prod\nnote=a=b c')
  expect(labelsOf(labelsText(labels))).toEqual({ labels, wrong: [] })
})

it('reports invalid lines', () => {
  expect(labelsOf(' environment = lab \n\nnonsense\n=x')).toEqual({
    labels: { environment: 'lab' },
    wrong: ['nonsense', '=x'],
  })
})
