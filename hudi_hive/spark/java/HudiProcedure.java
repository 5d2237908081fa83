/*
 * A procedure whose work is done by a function of Python: Spark computes the arguments, and gives the rows on. Compiled on
 * the driver with Janino, which comes with Spark; the language is kept to what Janino knows.
 */
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;

import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import scala.Function1;

public class HudiProcedure implements UnboundProcedure, BoundProcedure, ProcedureCatalog {
    private final String name;
    private final ProcedureParameter[] parameters;
    private final StructType columns;
    private final Function1 run;

    /**
     * @param name what plans and messages call it
     * @param parameters its arguments, all of which are given
     * @param columns of its rows
     * @param run gets the list of the arguments' values, and returns the rows as an array of Spark's
     */
    public HudiProcedure(String name, ProcedureParameter[] parameters, StructType columns, Function1 run) {
        this.name = name;
        this.parameters = parameters;
        this.columns = columns;
        this.run = run;
    }

    public String name() {
        return name;
    }

    public String toString() {
        return name;
    }

    public String description() {
        return name;
    }

    public void initialize(String catalog, CaseInsensitiveStringMap options) {
    }

    public UnboundProcedure loadProcedure(Identifier identifier) {
        return this;
    }

    public Identifier[] listProcedures(String[] namespace) {
        return new Identifier[0];
    }

    public BoundProcedure bind(StructType types) {
        return this;
    }

    public boolean isDeterministic() {
        return false;
    }

    public ProcedureParameter[] parameters() {
        return parameters;
    }

    public Iterator call(InternalRow row) {
        ArrayList values = new ArrayList();
        for (int at = 0; at < parameters.length; at++) {
            DataType type = parameters[at].dataType();
            values.add(row.isNullAt(at) ? null : CatalystTypeConverters.convertToScala(row.get(at, type), type));
        }
        return Collections.singletonList(new Rows(columns, (InternalRow[]) run.apply(values))).iterator();
    }

    public static class Rows implements LocalScan {
        private final StructType columns;
        private final InternalRow[] rows;

        public Rows(StructType columns, InternalRow[] rows) {
            this.columns = columns;
            this.rows = rows;
        }

        public StructType readSchema() {
            return columns;
        }

        public InternalRow[] rows() {
            return rows;
        }
    }
}
