/** Takes the height of rows that are not rendered. Always present, so that the table body is never recreated. */
export const RowSpacer = ({ rows, rowPx, columns }: { rows: number; rowPx: number; columns: number }) => (
  <tbody class="spacer" aria-hidden="true">
    {rows > 0 && (
      <tr>
        <td colSpan={columns} style={{ height: `${rows * rowPx}px` }} />
      </tr>
    )}
  </tbody>
)
