import { sqliteConformance } from '../testing/sqlite-conformance.ts'

sqliteConformance('sqlite with shared commits', setImmediate)
