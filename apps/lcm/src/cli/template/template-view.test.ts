import picocolors from 'picocolors'
import { expect, it } from 'vitest'
import { tableLines } from '../terminal/table.ts'
import { aTemplate, START_MS } from '../testing/resource-builders.ts'
import { templateColumns } from './template-view.ts'

it('shows templates as a table', () => {
  const templates = [aTemplate(), aTemplate({ id: 'wt-2', name: 'small', enabled: false, instance_types: ['a', 'b'] })]
  expect(tableLines(templateColumns(START_MS + 60_000, picocolors.createColors(false)), templates)).toEqual([
    'NAME    ID                 TYPES        CAPACITY         USD/HOUR   ENABLED   AGE',
    'metal   wt-0abcdefgh0001   m5zn.metal   48 CPU, 192 GB   3.96       yes       1m',
    'small   wt-2               a,b          48 CPU, 192 GB   3.96       no        1m',
  ])
})
