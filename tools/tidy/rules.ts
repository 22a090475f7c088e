import { checkDocuments } from './allowed-pages.ts'
import { checkSpelling } from './american-spelling.ts'
import { checkBans } from './banned-code.ts'
import { checkTerms } from './banned-words.ts'
import { checkOpenings } from './comment-openings.ts'
import { checkDependencies } from './dependencies.ts'
import { checkSizes } from './file-and-function-sizes.ts'
import { checkFileNames } from './file-names.ts'
import { checkFolders } from './folder-sizes.ts'
import { checkCycles } from './import-cycles.ts'
import { checkImports } from './imports.ts'
import { checkClasses } from './inheritance.ts'
import { checkReference } from './reference-pages.ts'
import { checkRepository } from './repository-hygiene.ts'
import type { Rule, Violation } from './repository-tree.ts'
import { checkTested } from './untested-files.ts'

export const RULES: readonly Rule[] = [
  { name: 'imports obey the table in ARCHITECTURE.md', check: checkImports },
  { name: 'package.json declares what is imported, and only that', check: checkDependencies },
  { name: 'functions, files, lines and parameter lists are short', check: checkSizes },
  { name: 'banned text stays in its one place', check: checkBans },
  { name: 'only errors inherit', check: checkClasses },
  { name: 'files are named after what is in them', check: checkFileNames },
  { name: 'every file that does something is tested', check: checkTested },
  { name: 'pages are few, short and dated', check: checkDocuments },
  { name: 'reference pages and code name the same things', check: checkReference },
  { name: 'folders hold at most 20 source files', check: checkFolders },
  { name: 'no file imports itself through others', check: checkCycles },
  { name: 'spelling is American', check: checkSpelling },
  { name: 'names, comments and texts use the terms of the field', check: checkTerms },
  { name: 'comments and texts name their subject first', check: checkOpenings },
  { name: 'no leftovers, copies or machine paths', check: checkRepository },
]

export const printed = ({ path, line, rule, use }: Violation) => `${path}:${line} ${rule} -> ${use}`
