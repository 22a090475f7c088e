interface TableHeadProps {
  /** `Actions` is visible to screen readers only. */
  readonly columns: readonly string[]
  /** Adds a class per column, such as `col-status`. */
  readonly isClassed?: boolean
}

export const TableHead = ({ columns, isClassed = false }: TableHeadProps) => (
  <thead>
    <tr>
      {columns.map(column => (
        <th key={column} scope="col" class={isClassed ? `col-${column.toLowerCase()}` : undefined}>
          {column === 'Actions' ? <span class="sr-only">{column}</span> : column}
        </th>
      ))}
    </tr>
  </thead>
)
