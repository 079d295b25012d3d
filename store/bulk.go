package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// bulk is how a statement is written that does the same to many rows.
type bulk struct {
	columns []string // the first arguments of each single statement are the values of these columns
	records string   // the text on PostgreSQL; its only parameter is a JSON list of records
	insert  bool     // it is an INSERT of these columns and nothing else, so that SQLite inserts several rows at once
	table   string
}

// rowsPerInsert is the most rows that one statement inserts on SQLite. There is one text for each number of rows, and
// each text is parsed once.
const rowsPerInsert = 16

// newInsert returns the bulk form of an INSERT of these columns, which are a list as in SQL.
func newInsert(table, columns string) *bulk {
	b := &bulk{insert: true, table: table}
	for name := range strings.SplitSeq(columns, ",") {
		b.columns = append(b.columns, strings.TrimSpace(name))
	}
	names := strings.Join(b.columns, ", ")
	b.records = fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM json_populate_recordset(CAST(NULL AS %[1]s), CAST($1 AS JSON))", table, names)
	return b
}

// one returns the text of the INSERT of a single row.
func (b *bulk) one() string {
	var list strings.Builder
	for i := range b.columns {
		fmt.Fprintf(&list, ", $%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", b.table, strings.Join(b.columns, ", "), list.String()[2:])
}

// rows returns the text that inserts n rows on SQLite. It has "?" instead of numbered parameters, because SQLite's
// driver searches numbered parameters by name. After "OR FAIL", an error in the middle keeps the rows before it, and
// SQLite need not note how to remove them: the caller rolls back more than this statement anyway.
func (b *bulk) rows(n int) string {
	row := ", (?" + strings.Repeat(", ?", len(b.columns)-1) + ")"
	return fmt.Sprintf("INSERT OR FAIL INTO %s (%s) VALUES %s", b.table, strings.Join(b.columns, ", "), strings.Repeat(row, n)[2:])
}

// newUpdate returns the bulk form of an UPDATE of rows by id. The rows must be locked by the transaction, because their
// versions are not compared.
func newUpdate(table string, columns []string) *bulk {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = new." + c
	}
	return &bulk{table: table, columns: append(columns, "id"),
		records: fmt.Sprintf("UPDATE %s SET %s FROM json_populate_recordset(CAST(NULL AS %[1]s), CAST($1 AS JSON)) AS new WHERE %[1]s.id = new.id",
			table, strings.Join(set, ", "))}
}

// inBulk merges statements with the same bulk form: a statement costs more than a row. PostgreSQL merges all; SQLite
// merges INSERTs, of at most rowsPerInsert rows. A merged statement is executed in the place of the first of them. The
// order among such statements does not matter.
func inBulk(list []statement, d *dialect) ([]statement, error) {
	groups := make([][]statement, 0, len(list))
	newest := map[*bulk]int{} // index of the newest group of each form
	for _, s := range list {
		if s.bulk == nil || !s.bulk.insert && !d.pipelined {
			groups = append(groups, []statement{s})
			continue
		}
		at, has := newest[s.bulk]
		if !has || !d.pipelined && len(groups[at]) == rowsPerInsert {
			at = len(groups)
			groups, newest[s.bulk] = append(groups, nil), at
		}
		groups[at] = append(groups[at], s)
	}
	merged := make([]statement, 0, len(groups))
	for _, g := range groups {
		s, err := g[0], error(nil)
		switch {
		case len(g) == 1:
		case d.pipelined:
			s, err = asRecords(g)
		default:
			s = asRows(g)
		}
		if err != nil {
			return nil, err
		}
		merged = append(merged, s)
	}
	return merged, nil
}

// asRows returns one INSERT of SQLite instead of several.
func asRows(list []statement) statement {
	args := make([]any, 0, len(list)*len(list[0].args))
	for _, s := range list {
		args = append(args, s.args...)
	}
	return statement{sql: list[0].bulk.rows(len(list)), args: args, rows: int64(len(list))}
}

// asRecords returns one statement of PostgreSQL instead of several.
func asRecords(list []statement) (statement, error) {
	b := list[0].bulk
	records, err := toRecords(b.columns, list)
	return statement{sql: b.records, args: []any{records}, rows: int64(len(list))}, err
}

// toRecords encodes the rows of statements as a JSON list.
func toRecords(columns []string, list []statement) (string, error) {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for j, v := range plainArgs(s.args[:len(columns)]) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, '"'), columns[j]...), '"', ':')
			switch v := v.(type) {
			case nil:
				b = append(b, "null"...)
			case int64:
				b = strconv.AppendInt(b, v, 10)
			case bool:
				b = strconv.AppendBool(b, v)
			case string:
				text, err := json.Marshal(v)
				if err != nil {
					return "", err
				}
				b = append(b, text...)
			default:
				return "", fmt.Errorf("column %s is a %T", columns[j], v)
			}
		}
		b = append(b, '}')
	}
	return string(append(b, ']')), nil
}
